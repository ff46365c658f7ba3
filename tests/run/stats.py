#!/usr/bin/env python3
"""Checks that the counters of a run equal --emit=collectives.

    stats.py SHARDC CONFIG MESH [--steps N] [shardc options]

Of the forward pass; --steps: of so many training steps."""
import csv
import os
import sys
import tempfile

import golden


def read(path):
    with open(path) as f:
        return {row["id"]: row for row in csv.DictReader(f, delimiter="\t")}


def main(shardc, config, mesh, *extra):
    data = golden.ROOT / "tests" / "data" / "golden" / config.replace("micro_", "reference-")
    steps = []
    if extra[:1] == ("--steps",):
        steps, extra = list(extra[:2]), extra[2:]
    entry, times = ("step", int(steps[1])) if steps else ("forward", 1)
    options = ["--config", config, "--mesh", mesh, *extra]
    with tempfile.TemporaryDirectory() as tmp:
        counted, listed = os.path.join(tmp, "stats.tsv"), os.path.join(tmp, "collectives.tsv")
        golden.run(shardc, "build", golden.MODEL, *options, "--entry", entry, "--emit=collectives", "-o", listed)
        golden.run(shardc, "run", golden.MODEL, *options, "--load", data / "params.safetensors", "--feed",
                   data / "batch.safetensors", *steps, "--stats", counted)
        got, want = read(counted), read(listed)
        assert len(want) > 5 and got.keys() == want.keys(), f"{sorted(got)} were run, {sorted(want)} listed"
        for name, row in want.items():
            count = int(row["count"]) * times
            bytes_ = int(row["bytes"]) * count
            assert int(got[name]["count"]) == count, f"{name} ran {got[name]['count']} times, listed {count}"
            assert int(got[name]["bytes"]) == bytes_, f"{name} sent {got[name]['bytes']} bytes, listed {bytes_}"
            assert row["cause"], f"{name} has no cause"


if __name__ == "__main__":
    main(*sys.argv[1:])
