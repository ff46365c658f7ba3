#!/usr/bin/env python3
"""Runs a micro model on a mesh and compares loss and logits with the golden numbers.

    golden.py SHARDC CONFIG MESH [--interpret FORM] [--executable] [shardc options]

CONFIG is micro_v3, micro_v2lite or micro_dense; MESH `-` is one device. On more than one device the parameters of a
device must be at most 0.6 of the whole. Bound: 1e-5 of the tensor's largest value; with dtype=bf16 the bounds that
bf16 rounding allows."""
import os
import pathlib
import subprocess
import sys
import tempfile

import compare

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODEL = ROOT / "examples" / "deepseek.shard"


def run(*args):
    done = subprocess.run([str(a) for a in args], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"exit code {done.returncode}: {' '.join(map(str, args))}\n{done.stdout}{done.stderr}")
    return done.stdout


def parameter_bytes(shardc, options):
    table = run(shardc, "build", MODEL, *options, "--emit=memory")
    return dict(line.split("\t") for line in table.splitlines())["parameters"]


def check_split(shardc, config, mesh, extra):
    whole = int(parameter_bytes(shardc, ["--config", config]))
    part = int(parameter_bytes(shardc, ["--config", config, "--mesh", mesh, *extra]))
    assert part <= 0.6 * whole, f"a device holds {part} of {whole} bytes of parameters"


def check_bf16(config, got, want):
    def rms(name):
        return compare.difference(got[name][1], want[name][1], True)

    loss = abs(got["loss"][1][0] - want["loss"][1][0])
    if config == "micro_dense":
        most = compare.difference(got["logits"][1], want["logits"][1], False)
        assert most <= 2e-2, f"logits differ by {most}"
        return
    bound = {"micro_v3": 0.1, "micro_v2lite": 0.03}[config]
    assert loss <= 5e-3, f"the loss differs by {loss}"
    assert rms("logits") <= bound, f"logits differ by rms {rms('logits')}"


def main(shardc, config, mesh, *extra):
    extra = list(extra)
    data = ROOT / "tests" / "data" / "golden" / config.replace("micro_", "reference-")
    executable = "--executable" in extra
    if executable:
        extra.remove("--executable")
    options = ["--config", config] + ([] if mesh == "-" else ["--mesh", mesh]) + extra
    build_options = [o for i, o in enumerate(options) if "--interpret" not in (o, options[i - 1] if i else "")]
    if mesh != "-":
        check_split(shardc, config, mesh, build_options[4:])
    with tempfile.TemporaryDirectory() as tmp:
        out = os.path.join(tmp, "out.safetensors")
        files = ["--load", data / "params.safetensors", "--feed", data / "batch.safetensors", "--dump", out]
        if executable:
            prog = os.path.join(tmp, "prog")
            run(shardc, "build", MODEL, *options, "-o", prog)
            isolate = ["--isolate"] if os.environ.get("SHARDC_ISOLATE") else []
            run(prog, *files, *isolate)
        else:
            run(shardc, "run", MODEL, *options, *files)
        got, want = compare.load(out), compare.load(data / "want.safetensors")
        if "dtype=bf16" in extra:
            check_bf16(config, got, want)
            return
        for name in ("loss", "logits"):
            assert got[name][0] == want[name][0], f"{name} has shape {got[name][0]}"
            most = compare.difference(got[name][1], want[name][1], False)
            assert most <= 1e-5, f"{name} differs by {most}"


if __name__ == "__main__":
    main(*sys.argv[1:])
