#!/usr/bin/env python3
"""Trains with MaxText's own weights and batches and compares with what MaxText computed.

    train_maxtext.py SHARDC CONFIG MESH

Gradients of the plain and the packed batch and of the plain rotation, ten steps at the default rate and at 3e-3. At 3e-3 Adam
has amplified rounding too much to compare weights; there the gradients' norm falls below 1 and is not clipped any more."""
import sys
import tempfile

import compare
import training

OPTIONS = {"micro_v3": [], "micro_v2lite": ["--set", "shared=2"]}
FAST = ["--set", "lr=3e-3", "--set", "warmup=0"]


def main(shardc, config, mesh):
    name = config.replace("micro_", "maxtext-")
    data, (numbers, tensors) = training.DATA / name, training.wanted(name)
    params = data / "params.safetensors"

    def program(*extra):
        return training.Program(shardc, config, mesh, tmp, [*OPTIONS[config], *extra])

    def gradients(of, prefix, batch):
        if any(k.startswith(prefix + "grad.") for k in tensors):
            training.check_gradients(of.train(1, params, data / batch)[0], tensors, prefix)

    with tempfile.TemporaryDirectory() as tmp:
        default = program()
        gradients(default, "", "batch_plain.safetensors")
        gradients(default, "packed.", "batch_packed.safetensors")
        dump, metrics = default.train(10, params, data / "batch_plain.safetensors")
        training.check_steps(metrics, numbers)
        if any(k.startswith("after_10.") for k in tensors):
            training.check_updates(dump, compare.load(params), tensors, 10)
        gradients(program("--set", "rotation=plain"), "plain.", "batch_plain.safetensors")
        _, metrics = program(*FAST).train(10, params, data / "batch_plain.safetensors")
        training.check_steps(metrics, numbers["fast"])


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except AssertionError as e:
        sys.exit(f"wrong: {e}")
