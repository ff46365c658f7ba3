#!/usr/bin/env python3
"""Saves, loads, resumes and breaks checkpoints of a small training run.

    checkpoints.py SHARDC

A run that goes on from a checkpoint gives on the same mesh the bits of one that never stopped, and on other meshes its losses.
Whatever happens to a run, the newest complete checkpoint loads; one that was changed is refused with all that is wrong."""
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import golden
import training

CONFIG = "micro_v3" if training.is_full() else "micro_dense"
KILLS = 50 if training.is_full() else 8


def build(shardc, folder, mesh):
    prog = folder / f"prog-{mesh.replace(',', '-')}"
    golden.run(shardc, "build", golden.MODEL, "--config", CONFIG, "--mesh", mesh, "-Wno-size-1-axis", "-o", prog)
    return prog


def train(prog, steps, *extra, code=0):
    """-> what it said, losses, the bytes of the dump."""
    dump, metrics = prog.with_suffix(".dump"), prog.with_suffix(".metrics")
    done = subprocess.run([str(a) for a in (prog, "--steps", steps, "--dump", dump, "--metrics", metrics, *extra)], check=False,
                          capture_output=True, text=True)
    assert done.returncode == code, f"exit code {done.returncode}, wanted {code}: {done.stderr}"
    if code:
        return done.stderr, None, None
    rows = [json.loads(line) for line in metrics.read_text().splitlines()]
    return done.stderr, [(r["step"], r["loss"]) for r in rows], dump.read_bytes()


def check_resume(prog, others, folder):
    saved = folder / "saved"
    _, whole, bits = train(prog, 6, "--seed", 7)
    _, first, _ = train(prog, 3, "--seed", 7, "--save", saved)
    assert first == whole[:3], "the same run twice gives other losses"
    _, rest, again = train(prog, 3, "--load", saved)
    assert rest == whole[3:] and again == bits, "resumed on the same mesh, it gives other bits"
    for workers in (1, 2):
        _, rest, again = train(prog, 3, "--load", saved, "--workers", workers)
        assert again == bits, f"{workers} workers give other bits"
    _, rest, again = train(prog, 3, "--load", saved, "--isolate")
    assert again == bits, "isolated devices give other bits"
    for other in others:
        _, rest, _ = train(other, 3, "--load", saved)
        assert [s for s, _ in rest] == [4, 5, 6], f"steps are numbered {rest}"
        off = max(abs(a - b) / b for (_, a), (_, b) in zip(rest, whole[3:]))
        assert off <= 1e-6, f"{other.name}: losses differ by {off:.2g}"


def steps_in(folder):
    return sorted(p.name for p in folder.iterdir())


def check_every(prog, folder):
    saved = folder / "every"
    train(prog, 5, "--save", saved, "--save-every", 1, "--keep", 2)
    assert steps_in(saved) == ["step-00000004", "step-00000005"], f"kept {steps_in(saved)}"


def check_interrupt(prog, folder, *extra):
    """As a terminal does it: the whole group of processes gets the signal."""
    saved = folder / "-".join(["interrupted", *extra])
    p = subprocess.Popen([prog, "--steps", "100000", "--save", saved, *extra], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                         text=True, start_new_session=True)
    for line in p.stderr:
        if line.startswith("step 3 "):
            break
    os.killpg(p.pid, signal.SIGINT)
    said = p.stderr.read()
    assert p.wait(60) == 0, f"exit code {p.returncode} after an interrupt: {said}"
    assert len(steps_in(saved)) == 1, f"saved {steps_in(saved)}"
    last = int(steps_in(saved)[0].removeprefix("step-"))
    assert f"stopped after step {last}\n" in said, said
    _, rest, _ = train(prog, 1, "--load", saved)
    assert rest[0][0] == last + 1, f"after step {last} came {rest}"


def check_kill(prog, folder):
    saved, loaded = folder / "killed", 0
    for i in range(KILLS):
        extra = ["--load", saved] if loaded else []
        p = subprocess.Popen([str(a) for a in (prog, "--steps", 1000, "--save", saved, "--save-every", 1, "--keep", 2, *extra)],
                             stderr=subprocess.DEVNULL)
        time.sleep(random.Random(i).uniform(0.05, 0.4))
        p.kill()
        p.wait()
        loaded = saved.exists() and any(n.startswith("step-") and not n.endswith(".tmp") for n in steps_in(saved))
        if loaded:
            train(prog, 1, "--load", saved)
    assert loaded, "no run got as far as a checkpoint"


def broken(saved, folder, name, change):
    """A copy of the newest checkpoint with a change to its index or, for one that takes a path, to its files."""
    copy = folder / name
    shutil.copytree(max(saved.iterdir()), copy)
    index = json.loads((copy / "index.json").read_text())
    if change(copy, index) is None:
        (copy / "index.json").write_text(json.dumps(index))
    return copy


def check_faults(prog, folder):
    saved = folder / "saved"

    def corrupt(copy, _):
        shard = sorted(copy.glob("shard-*"))[1]
        data = bytearray(shard.read_bytes())
        data[len(data) // 2] ^= 1
        shard.write_bytes(data)

    def cut(copy, _):
        shard = sorted(copy.glob("shard-*"))[0]
        os.truncate(shard, shard.stat().st_size - 8)

    def gone(copy, _):
        sorted(copy.glob("shard-*"))[2].unlink()

    def other_model(_, index):
        tensors = index["tensors"]
        tensors["surprise"] = tensors.pop("embed")
        tensors["final_norm" if "final_norm" in tensors else sorted(tensors)[0]]["shape"] = [3]

    def no_index(copy, _):
        (copy / "index.json").write_text("{")
        return False

    for change, wanted in ((corrupt, ["corrupt: checksum"]), (cut, ["were written"]), (gone, ["No such file"]),
                           (other_model, ["embed", "surprise", "[3]"]), (no_index, ["index.json: cannot read"])):
        said, _, _ = train(prog, 1, "--load", broken(saved, folder, change.__name__, change), code=1)
        for text in wanted:
            assert text in said, f"{change.__name__}: no `{text}` in: {said}"
    said, _, _ = train(prog, 1, "--load", folder / "nowhere", code=1)
    assert "nowhere" in said, said


def check_full_disk(prog, folder):
    saved = folder / "full"
    train(prog, 1, "--save", saved)
    exits = golden.ROOT / "tests" / "fault" / "exits.py"
    done = subprocess.run([sys.executable, exits, "--file-size", "4096", "1", prog, "--steps", "1", "--load", saved, "--save",
                           saved], check=False, capture_output=True, text=True)
    assert done.returncode == 0 and "cannot write" in done.stderr, done.stderr
    assert steps_in(saved) == ["step-00000001"], f"left {steps_in(saved)}"
    train(prog, 1, "--load", saved)


def check_data(prog, folder):
    data = folder / "tokens"
    data.write_bytes(bytes(100))
    said, _, _ = train(prog, 1, "--data", data, code=1)
    assert str(data) in said, said
    data.write_bytes(b"\xff\x7f" * 100000)
    said, _, _ = train(prog, 1, "--data", data, code=1)
    assert "must be less than" in said, said
    data.write_bytes(b"\x05\x00" * 100000)
    _, small, _ = train(prog, 2, "--data", data)
    data.write_bytes(b"\x05\x00\x00\x00" * 100000)
    _, large, _ = train(prog, 2, "--data", data, "--data-type", "u32")
    assert small == large, "the type of the ids changes the losses"


def main(shardc):
    with tempfile.TemporaryDirectory() as tmp:
        folder = pathlib.Path(tmp)
        prog = build(shardc, folder, "fsdp=4")
        others = [build(shardc, folder, mesh) for mesh in ("fsdp=2,tensor=2", "fsdp=1")]
        check_resume(prog, others, folder)
        check_every(prog, folder)
        for extra in ([], ["--workers", "1"], ["--isolate"]):
            check_interrupt(prog, folder, *extra)
        check_faults(prog, folder)
        check_full_disk(prog, folder)
        check_data(prog, folder)
        check_kill(prog, folder)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except AssertionError as e:
        sys.exit(f"wrong: {e}")
