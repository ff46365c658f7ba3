#!/usr/bin/env python3
"""Makes training.xz and eps.xz here, the wanted numbers of training in the form of tests/run/packed.py.

    make.py GOLDEN REFERENCE    folders with the whole numbers and with deepseek.py (for eps.xz; wants jax)

training.xz of reference-NAME and of maxtext-NAME: under `losses`, `grad_norms`, `lrs` (and MaxText's `clipped`) ten steps at
the default rate; `grad.NAME`, the gradients of the first step before clipping; `after_N.NAME`, what N steps added to a
parameter. MaxText's have more: `packed.grad.NAME` and `plain.grad.NAME` (another batch, another rotation), `fast`: ten steps
at rate 3e-3. eps.xz: ten steps with adam_eps=1e-3, computed in double precision, where clipping is seen in the update.

reference-v3 has every element, the others a sample that goes through all rows and columns, for the repository's sake."""
import dataclasses
import json
import pathlib
import sys

import numpy as np
from safetensors.numpy import load_file

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "run"))
import packed

GRADIENT_BITS, UPDATE_BITS = 20, 11
STRIDE = {"reference-v3": 1, "reference-v2lite": 5, "reference-dense": 5, "maxtext-v3": 11, "maxtext-v2lite": 11}


def picked(name, values, stride, bits):
    flat = values.astype(np.float64).ravel()
    largest = float(np.abs(flat).max())
    entry = {"name": name, "shape": list(values.shape), "stride": stride, "largest": largest, "bits": bits,
             "chosen": False}
    return entry, flat[list(packed.places(flat.size, stride))].tolist()


def gradients(path, prefix, stride):
    return [picked(prefix + name, t, stride, GRADIENT_BITS)
            for name, t in sorted(load_file(path).items()) if name.startswith("grad.")]


def updates(before, after, prefix, stride, first=()):
    """first: the gradients as stored, which say what is chosen; none: everything is."""
    large = {}
    for entry, values in first:
        stored = packed.decode(packed.encode(values, entry["largest"], entry["bits"]), entry["largest"], entry["bits"])
        large[entry["name"]] = packed.chosen(stored, entry["largest"])
    for name in sorted(before):
        change = after[name].astype(np.float64) - before[name]
        entry, values = picked(prefix + name, change, stride, UPDATE_BITS)
        if large:
            entry["chosen"] = True
            values = [v for v, is_large in zip(values, large["grad." + name]) if is_large]
        yield entry, values


def numbers(losses, norms, rates):
    return {key: [float(x) for x in values]
            for key, values in (("losses", losses), ("grad_norms", norms), ("lrs", rates))}


def reference(folder, stride):
    before, steps = load_file(folder / "params.safetensors"), load_file(folder / "steps.safetensors")
    first = gradients(folder / "first.safetensors", "", stride)
    tensors = list(first)
    for n in (2, 10):
        tensors += updates(before, load_file(folder / f"after_{n}.safetensors"), f"after_{n}.", stride, first)
    return numbers(steps["losses"], steps["grad_norms"], steps["lrs"]), tensors


def maxtext_steps(path):
    steps = json.loads(path.read_text())
    out = numbers(*([s[key] for s in steps] for key in ("loss", "raw_grad_norm", "lr")))
    return out | {"clipped": [s["grad_norm"] for s in steps]}


def maxtext(folder, stride):
    first = gradients(folder / "grads_plain.safetensors", "", stride)
    tensors = list(first)
    for file, prefix in (("grads_packed", "packed."), ("grads_plain_rope_default", "plain.")):
        if (folder / f"{file}.safetensors").exists():
            tensors += gradients(folder / f"{file}.safetensors", prefix, stride)
    if (folder / "params_default_step10.safetensors").exists():
        tensors += updates(load_file(folder / "params_init.safetensors"),
                           load_file(folder / "params_default_step10.safetensors"), "after_10.", stride, first)
    fast = maxtext_steps(folder / "steps_lr3e-3.json")
    return maxtext_steps(folder / "steps_default.json") | {"fast": fast}, tensors


def eps(folder, code):
    """Ten steps of the reference in double precision, with another epsilon."""
    sys.path.insert(0, str(code))
    import jax
    jax.config.update("jax_enable_x64", True)
    import deepseek
    fields = {f.name for f in dataclasses.fields(deepseek.Config)}
    config = {k: v for k, v in json.loads((folder / "config.json").read_text()).items() if k in fields}
    c = deepseek.Config(**config | {"adam_eps": 1e-3, "dtype": "float64"})
    before, batch = load_file(folder / "params.safetensors"), load_file(folder / "batch.safetensors")
    step = jax.jit(lambda state: deepseek.train_step(state, batch, c))
    state, seen = deepseek.init_state({k: jax.numpy.asarray(w, "float64") for k, w in before.items()}), []
    for _ in range(10):
        state, metrics = step(state)
        seen.append({k: float(v) for k, v in metrics.items()})
    after = {k: np.asarray(w) for k, w in state["params"].items()}
    rows = numbers(*([m[key] for m in seen] for key in ("loss", "grad_norm", "lr")))
    return rows, list(updates(before, after, "after_10.", 13))


def main(golden, code):
    golden = pathlib.Path(golden)
    for name, stride in STRIDE.items():
        make = reference if name.startswith("reference") else maxtext
        packed.write(HERE / name / "training.xz", *make(golden / name, stride))
    packed.write(HERE / "reference-v3" / "eps.xz", *eps(golden / "reference-v3", pathlib.Path(code)))


if __name__ == "__main__":
    main(*sys.argv[1:])
