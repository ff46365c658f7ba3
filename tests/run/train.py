#!/usr/bin/env python3
"""Trains a micro model on a mesh and compares with the reference: gradients, ten steps, parameters.

    train.py SHARDC CONFIG MESH [--run] [--eps | --bf16] [--model FILE] [shardc options]

CONFIG is micro_v3, micro_v2lite or micro_dense; MESH `-` is one device. --run builds in memory instead of an executable.
--eps compares with the numbers for adam_eps=1e-3, which it sets. --model takes another file than examples/deepseek.shard.
Bounds: gradients 1e-5 of the tensor's largest, losses, norms and rates 1e-5, parameters 5e-3 of the tensor's largest update.
--bf16 sets dtype=bf16: losses 3e-3, norms 1e-2, the rms of the gradients' differences 5 % of theirs; of the sigmoid router's
mixture 20 %: rounded scores choose other experts. On more devices than one, each must hold at most 0.6 of the parameters."""
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


def check_bf16(program, config, params, batch, numbers, tensors):
    dump, _ = program.train(1, params, batch)
    bound = 0.2 if config == "micro_v3" else 0.05
    training.check_bounds("gradients differ, rms", [
        (compare.difference(training.values_at(dump[k], t), t["values"], True), bound, k)
        for k, t in tensors.items() if k.startswith("grad.") and t["largest"] > 0])
    _, metrics = program.train(10, params, batch)
    training.check_steps(metrics, {"losses": numbers["losses"]}, 3e-3)
    training.check_steps(metrics, {"grad_norms": numbers["grad_norms"]}, 1e-2)
    training.check_steps(metrics, {"lrs": numbers["lrs"]})


def main(shardc, config, mesh, *extra):
    flags = {f for f in extra if f in ("--run", "--eps", "--bf16")}
    extra = [e for e in extra if e not in flags]
    if "--model" in extra:
        at = extra.index("--model")
        golden.MODEL = extra[at + 1]
        del extra[at:at + 2]
    name = config.replace("micro_", "reference-")
    params, batch = training.DATA / name / "params.safetensors", training.DATA / name / "batch.safetensors"
    numbers, tensors = training.wanted(name, "eps.xz" if "--eps" in flags else "training.xz")
    extra += ["--set", "adam_eps=1e-3"] if "--eps" in flags else []
    extra += ["--set", "dtype=bf16"] if "--bf16" in flags else []
    if mesh != "-":
        golden.check_split(shardc, config, mesh, extra)
    start = compare.load(params)
    with tempfile.TemporaryDirectory() as tmp:
        program = training.Program(shardc, config, mesh, tmp, extra, "--run" in flags)
        if "--bf16" in flags:
            check_bf16(program, config, params, batch, numbers, tensors)
            return
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
