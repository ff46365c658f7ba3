#!/usr/bin/env python3
"""The main job on one screen: a micro DeepSeek-V3, compiled for four devices, gives the numbers of one."""
import collections
import csv
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
DATA = ROOT / "tests" / "data" / "golden" / "reference-v3"
MODEL = "examples/deepseek.shard"
MESH = "fsdp=2,tensor=2"


def run(*args):
    done = subprocess.run([str(a) for a in args], capture_output=True, text=True, cwd=ROOT)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, args))}\n{done.stdout}{done.stderr}")
    return done.stdout


def loss_of(shardc, tmp, *mesh):
    prog = os.path.join(tmp, "prog" + "".join(mesh).strip("-"))
    run(shardc, "build", MODEL, "--config", "micro_v3", *mesh, "-o", prog)
    out = run(prog, "--load", DATA / "params.safetensors", "--feed", DATA / "batch.safetensors")
    return float(out.split()[1])


def reason(row):
    """The cause without the types: what is moved, and for whom."""
    text = row["cause"]
    if text.startswith("weight"):
        return "weights stored split, used whole"
    if "leaves a pending" in text:
        return f"a pending {text.split('pending ')[1].split(';')[0]} is combined"
    return "activations wanted otherwise than they are" if "annotation" not in text else "an annotation moves activations"


def print_collectives(shardc):
    table = run(shardc, "build", MODEL, "--config", "micro_v3", "--mesh", MESH, "--emit=collectives")
    groups = collections.OrderedDict()
    for row in csv.DictReader(table.splitlines(), delimiter="\t"):
        g = groups.setdefault((row["kind"], row["axes"], reason(row)), [0, 0])
        g[0] += int(row["count"])
        g[1] += int(row["bytes"]) * int(row["count"])
    print("collectives of a step, per device, and why (each with its place: shardc build --emit=collectives)")
    for (kind, axes, why), (count, size) in sorted(groups.items(), key=lambda g: -g[1][1]):
        print(f"  {kind:<15} {axes:<7} {count:>3} x {size / count / 1024:8.1f} KiB   {why}")


def main(build):
    shardc = ROOT / build / "shardc"
    print(f"$ shardc check {MODEL} --config micro_v3 --mesh {MESH}")
    report = run(shardc, "check", MODEL, "--config", "micro_v3", "--mesh", MESH)
    print(report[:report.index("collectives")], end="")
    print_collectives(shardc)
    with tempfile.TemporaryDirectory() as tmp:
        four, one = loss_of(shardc, tmp, "--mesh", MESH), loss_of(shardc, tmp)
    print(f"loss on four devices  {four:.7g}")
    print(f"loss on one device    {one:.7g}")
    print(f"difference            {abs(four - one):.1e}")
    if abs(four - one) > 1e-5 * abs(one):
        sys.exit("the devices disagree")


main(sys.argv[1] if len(sys.argv) > 1 else "build")
