#!/usr/bin/env python3
"""Memory of a run: its own count against --emit=memory, to the byte; no allocation and no page fault in a steady step.

    steady.py SHARDC CONFIG MESH

MESH `-` is one device. A run of many steps must allocate as often as one of few, and fault as often but for what the system
does by itself: less than one fault a step."""
import csv
import os
import pathlib
import subprocess
import sys
import tempfile

import golden
import training

FEW, MANY = 3, 23


def table(path):
    with open(path) as f:
        return {row["class"]: int(row["bytes"]) for row in csv.DictReader(f, delimiter="\t")}


def check_count(shardc, prog, options, entry, extra, folder):
    planned, counted = folder / "planned", folder / "counted"
    golden.run(shardc, "build", golden.MODEL, *options, "--entry", entry, "--emit=memory", "-o", planned)
    golden.run(prog, *extra, "--memory", counted)
    want, got = table(planned), table(counted)
    assert want["peak"] == got["own used"] + got["shared used"], f"{entry}: planned {want['peak']} bytes, used {got}"
    assert sum(v for k, v in want.items() if k != "peak") == want["peak"], f"{entry}: {want} is not the whole"
    for name in ("parameters", "optimizer", "inputs"):
        assert want[name] == got[name], f"{entry}: {name}: planned {want}, counted {got}"


def run(prog, steps, env, *extra):
    """-> page faults."""
    command = [str(a) for a in (prog, "--steps", steps, *extra)]
    with open(os.devnull, "w") as nothing:
        p = subprocess.Popen(command, stdout=nothing, stderr=nothing, env=os.environ | env)
        _, status, usage = os.wait4(p.pid, 0)
    p.returncode = os.waitstatus_to_exitcode(status)
    assert p.returncode == 0, f"exit code {p.returncode}: {' '.join(command)}"
    return usage.ru_minflt + usage.ru_majflt


def check_steady(prog, shim, folder, *extra):
    said = folder / "allocations"
    env = {"LD_PRELOAD": str(shim), "COUNT_FILE": str(said)}
    counts = []
    for steps in (FEW, MANY):
        run(prog, steps, env, *extra)
        counts.append(int(said.read_text()))
    assert counts[0] > 0, f"the counter saw {counts[0]} allocations"
    assert counts[0] == counts[1], f"{FEW} steps allocate {counts[0]} times, {MANY} steps {counts[1]}: {extra}"
    few, many = (min(run(prog, steps, {}, *extra) for _ in range(2)) for steps in (FEW, MANY))
    assert many - few < MANY - FEW, f"{FEW} steps have {few} page faults, {MANY} steps {many}: {extra}"


def main(shardc, config, mesh):
    options = ["--config", config] + ([] if mesh == "-" else ["--mesh", mesh])
    data = training.DATA / config.replace("micro_", "reference-")
    files = ["--load", data / "params.safetensors", "--feed", data / "batch.safetensors"]
    with tempfile.TemporaryDirectory() as tmp:
        folder = pathlib.Path(tmp)
        prog, shim, ids = folder / "prog", folder / "shim.so", folder / "ids"
        ids.write_bytes(bytes(80000))
        golden.run("cc", "-shared", "-fPIC", "-O1", golden.ROOT / "tests" / "run" / "count_malloc.c", "-o", shim)
        golden.run(shardc, "build", golden.MODEL, *options, "-o", prog)
        check_count(shardc, prog, options, "forward", files, folder)
        check_count(shardc, prog, options, "step", [*files, "--steps", 2], folder)
        check_steady(prog, shim, folder, "--metrics", folder / "metrics")
        check_steady(prog, shim, folder, "--data", ids)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except AssertionError as e:
        sys.exit(f"wrong: {e}")
