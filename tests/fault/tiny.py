#!/usr/bin/env python3
"""Writes what the runs of models/tiny.shard and models/nan.shard read, and changes their checkpoints.

    tiny.py x OUT [INDEX..]             inputs of nan.shard; negative at these of its 32 places
    tiny.py ids OUT COUNT BYTES [AT ID] token ids of 2 or 4 bytes, one of them another
    tiny.py change CHECKPOINT           copies with a changed index, in folders named by the change
"""
import json
import pathlib
import shutil
import struct
import sys


def write_x(out, *low):
    values = [2.0] * 32
    for i in low:
        values[int(i)] = -1.0
    header = json.dumps({"x": {"dtype": "F32", "shape": [4, 8], "data_offsets": [0, 128]}}).encode()
    pathlib.Path(out).write_bytes(struct.pack("<Q", len(header)) + header + struct.pack("<32f", *values))


def write_ids(out, count, size, at=None, other=None):
    ids = [i * i % 16 for i in range(int(count))]
    if at is not None:
        ids[int(at)] = int(other)
    pathlib.Path(out).write_bytes(struct.pack(f"<{len(ids)}{'H' if size == '2' else 'I'}", *ids))


def rename(index):
    index["tensors"]["tail"] = index["tensors"].pop("head")
    index["tensors"]["embed"]["shape"] = [16, 9]
    index["tensors"]["scale"]["dtype"] = "BF16"
    del index["tensors"]["opt.m.embed"]


def overlap(index):
    index["tensors"]["embed"]["pieces"].append(index["tensors"]["embed"]["pieces"][0])


def leave_out(index):
    index["tensors"]["embed"]["pieces"].pop()


def unknown(index):
    index["format"] = 2


def other_file(index):
    index["shards"][0]["file"] = "../secret"


def change(checkpoint):
    for do in (rename, overlap, leave_out, unknown, other_file):
        copy = pathlib.Path(do.__name__)
        shutil.copytree(checkpoint, copy)
        index = json.loads((copy / "index.json").read_text())
        do(index)
        (copy / "index.json").write_text(json.dumps(index))


if __name__ == "__main__":
    {"x": write_x, "ids": write_ids, "change": change}[sys.argv[1]](*sys.argv[2:])
