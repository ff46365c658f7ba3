#!/usr/bin/env python3
"""Tokens per second of the training step, f32, beside JAX where JAX and ../shared/reference are installed; interleaved.

    bench_step.py BUILD [--dense-only] [--medium]

Models are the `small` and, with --medium, the `medium` of ../shared/reference/bench_step.py, experts in the form that computes
all of them, on 1 and on 4 devices; and small with dense layers only. The last number is ours over JAX's of dense layers on one
device, or our own tokens per second where there is no JAX."""
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
REFERENCE = ROOT.parent / "shared" / "reference"
ROUNDS = 3
SIZES = {
    "small": dict(vocab=4096, emb=256, heads=8, q_rank=128, kv_rank=64, nope=32, rope=16, v=32, ff=1024, moe_ff=256, experts=16,
                  top_k=4, batch=8, seq=256, steps=4),
    "medium": dict(vocab=16384, emb=1024, heads=16, q_rank=512, kv_rank=256, nope=64, rope=32, v=64, ff=4096, moe_ff=512,
                   experts=32, top_k=4, batch=8, seq=512, steps=1),
}

# One process of JAX: compiles once, then a step's seconds for each line it reads.
JAX = r"""
import json, os, sys, time
size, mesh = json.loads(sys.argv[1]), sys.argv[2]
os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={4 if mesh else 1}"
sys.path.insert(0, sys.argv[3])
import jax, jax.numpy as jnp, deepseek, sharding
batch, seq, steps = (size.pop(k) for k in ("batch", "seq", "steps"))
c = deepseek.Config(**size, dtype="float32", moe="dense")
shapes = {k: jax.ShapeDtypeStruct(s, jnp.float32) for k, (s, _, _) in deepseek.shapes(c).items()}
place = sharding.Placed(sharding.MESHES[mesh]) if mesh else deepseek.Place()
step = sharding.jit_step(c, place, shapes) if mesh else jax.jit(
    lambda s, b: deepseek.train_step(s, b, c, place), donate_argnums=0)
state = jax.jit(lambda k: deepseek.init_state(deepseek.init(c, k)),
                out_shardings=place.state(shapes) if mesh else None)(jax.random.key(0))
tokens = jax.random.randint(jax.random.key(1), (batch, seq + 1), 0, c.vocab)
one = jnp.ones((batch, seq), jnp.int32)
b = {"tokens": tokens[:, :-1], "targets": tokens[:, 1:], "positions": jnp.tile(jnp.arange(seq), (batch, 1)), "segments": one,
     "target_mask": one}
b = place.put(b) if mesh else b
state, m = step(state, b)
jax.block_until_ready((state, m))
print("ready", flush=True)
for line in sys.stdin:
    times = []
    for _ in range(steps):
        t = time.perf_counter()
        state, m = step(state, b)
        jax.block_until_ready((state, m))
        times.append(time.perf_counter() - t)
    print(batch * seq / min(times), flush=True)
"""


def has_jax():
    return REFERENCE.is_dir() and subprocess.run([sys.executable, "-c", "import jax"], check=False,
                                                 capture_output=True).returncode == 0


class Jax:
    def __init__(self, size, devices):
        self.process = subprocess.Popen([sys.executable, "-c", JAX, json.dumps(size), "fsdp4" if devices > 1 else "",
                                         str(REFERENCE)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True,
                                        env=os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3"})
        assert self.process.stdout.readline() == "ready\n", "JAX failed"

    def rate(self):
        self.process.stdin.write("go\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Ours:
    def __init__(self, shardc, size, devices, folder):
        self.folder, self.steps = pathlib.Path(folder), size["steps"] + 1
        names = {"v": "v_dim", "batch": "batch"}
        sets = []
        for key, value in size.items():
            if key != "steps":
                sets += ["--set", f"{names.get(key, key)}={value}"]
        self.program = self.folder / f"prog{devices}"
        subprocess.run([str(shardc), "build", str(ROOT / "examples" / "deepseek.shard"), "--config", "small", *sets, "--mesh",
                        f"fsdp={devices}", "-Wno-size-1-axis", "-Wno-whole-tensor", "-o", str(self.program)], check=True)

    def rate(self):
        metrics = self.folder / "metrics"
        subprocess.run([str(self.program), "--steps", str(self.steps), "--metrics", str(metrics)], check=True,
                       capture_output=True)
        rows = [json.loads(line)["tokens_per_s"] for line in metrics.read_text().splitlines()]
        return max(rows[1:])


def compare(shardc, title, size, devices, with_jax):
    """-> our tokens per second, and the median ratio to JAX's or None."""
    with tempfile.TemporaryDirectory() as folder:
        ours = Ours(shardc, size, devices, folder)
        jax = Jax(size, devices) if with_jax else None
        rates, theirs = [], []
        for _ in range(ROUNDS):
            rates.append(ours.rate())
            if jax:
                theirs.append(jax.rate())
        if jax:
            jax.close()
    ratio = statistics.median(a / b for a, b in zip(rates, theirs)) if jax else None
    print(f"{title:<28} {statistics.median(rates):8.0f} tokens/s"
          + (f", JAX {statistics.median(theirs):8.0f}, ratio {ratio:.2f}" if jax else ""), flush=True)
    return statistics.median(rates), ratio


def main(build, *flags):
    shardc = ROOT / build / "shardc"
    with_jax = has_jax()
    if not with_jax:
        print("skipped: JAX, which is not installed or has no ../shared/reference")
    for name in ["small", *(["medium"] if "--medium" in flags else [])]:
        for devices in (1, 4) if "--dense-only" not in flags else ():
            compare(shardc, f"{name}, {devices} device{'s' * (devices > 1)}", SIZES[name] | {"dense_layers": 1, "moe_layers": 3},
                    devices, with_jax)
    rate, ratio = compare(shardc, "small, dense layers, 1 device", SIZES["small"] | {"dense_layers": 4, "moe_layers": 0}, 1,
                          with_jax)
    print(f"ours over JAX, dense layers, one device: {ratio:.2f}" if with_jax else f"tokens per second: {rate:.0f}")


main(sys.argv[1] if len(sys.argv) > 1 else "build-bench", *sys.argv[2:])
