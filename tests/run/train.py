#!/usr/bin/env python3
"""Trains a micro model on a mesh and compares with the reference: gradients, ten steps, parameters.

    train.py SHARDC CONFIG MESH [--run] [--eps] [shardc options]

CONFIG is micro_v3, micro_v2lite or micro_dense; MESH `-` is one device. --run builds in memory instead of an executable.
--eps compares with the numbers for adam_eps=1e-3, which it sets. Bounds: gradients 1e-5 of the tensor's largest, losses, norms
and rates 1e-5, parameters 5e-3 of the tensor's largest update. On more devices than one, each must hold at most 0.6 of the
parameters."""
import sys
import tempfile

import compare
import golden
import training


def first_steps(program, params, batch, start, tensors):
    dump, _ = program.train(1, params, batch)
    training.check_gradients(dump, tensors)
    moved = [k for k, t in start.items() if list(dump["param." + k][1]) != list(t[1])]
    assert not moved, f"the rate of the first step is 0, and it changed {moved}"
    dump, _ = program.train(2, params, batch)
    training.check_updates(dump, start, tensors, 2)


def main(shardc, config, mesh, *extra):
    flags = {f for f in extra if f in ("--run", "--eps")}
    extra = [e for e in extra if e not in flags]
    name = config.replace("micro_", "reference-")
    params, batch = training.DATA / name / "params.safetensors", training.DATA / name / "batch.safetensors"
    numbers, tensors = training.wanted(name, "eps.xz" if "--eps" in flags else "training.xz")
    if "--eps" in flags:
        extra += ["--set", "adam_eps=1e-3"]
    if mesh != "-":
        golden.check_split(shardc, config, mesh, extra)
    start = compare.load(params)
    with tempfile.TemporaryDirectory() as tmp:
        program = training.Program(shardc, config, mesh, tmp, extra, "--run" in flags)
        if "--eps" not in flags:
            first_steps(program, params, batch, start, tensors)
        dump, metrics = program.train(10, params, batch)
        training.check_steps(metrics, numbers)
        training.check_updates(dump, start, tensors, 10)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except AssertionError as e:
        sys.exit(f"wrong: {e}")
