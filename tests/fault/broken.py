#!/usr/bin/env python3
"""Writes the weights or the inputs of models/lookup.shard, whole or with one fault.

    broken.py params|batch OUT [FAULT]"""
import json
import struct
import sys

TENSORS = {
    "params": [("table", "F32", [8, 6]), ("scale", "F32", [6])],
    "batch": [("ids", "I32", [4]), ("x", "F32", [4, 6])],
}
IDS = [3, 0, 7, 1]


def count(shape):
    n = 1
    for dim in shape:
        n *= dim
    return n


def values(name, dtype, shape):
    n = count(shape)
    if dtype == "I32":
        return struct.pack(f"<{n}i", *IDS[:n])
    if dtype == "BF16":
        return struct.pack(f"<{n}H", *[0x3F80] * n)
    return struct.pack(f"<{n}f", *[1 + i / 8 for i in range(n)])


def layout(tensors):
    """The header, as a table, and the data."""
    header, data = {}, b""
    for name, dtype, shape in tensors:
        part = values(name, dtype, shape)
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(part)]}
        data += part
    return header, data


def pack(text, data, length=None):
    return struct.pack("<Q", len(text) if length is None else length) + text + data


# What the tensors are.

def change(kind, fault):
    tensors = list(TENSORS[kind])
    name, dtype, shape = tensors[0]
    if fault == "missing":
        return tensors[1:]
    if fault == "misshapen":
        tensors[0] = (name, dtype, shape[:-1] + [shape[-1] - 1])
    if fault == "rank":
        tensors[0] = (name, dtype, [1] + shape)
    if fault == "dtype":
        tensors[0] = (name, "BF16", shape)
    if fault == "all-wrong":
        return [(name, "BF16", shape)]
    if fault == "id-high":
        IDS[2] = 8
    if fault == "id-negative":
        IDS[0] = IDS[3] = -1
    return tensors


# What the header says of them.

def lie(header, fault):
    first, second = header.values()
    begin, end = second["data_offsets"]
    if fault == "overlap":
        second["data_offsets"] = [begin - 4, end - 4]
    if fault == "past-end":
        second["data_offsets"] = [begin, end + 4096]
    if fault == "backward":
        second["data_offsets"] = [end, begin]
    if fault == "short-range":
        second["data_offsets"] = [begin, end - 4]
    if fault == "overflow":
        first["shape"] = [1 << 62, 1 << 62]
    if fault == "negative-dim":
        first["shape"] = [-8, 6]
    if fault == "no-offsets":
        del first["data_offsets"]
    if fault == "unknown-dtype":
        first["dtype"] = "F31"
    if fault == "escape":
        header["\x1b[31mred"] = {"dtype": "F32", "shape": [2], "data_offsets": [0, 4]}


# How the bytes are put together.

def write(header, data, fault):
    text = json.dumps(header).encode()
    if fault == "truncated":
        return pack(text, data[:-40])
    if fault == "trailing":
        return pack(text, data + b"more")
    if fault == "empty":
        return b""
    if fault == "few-bytes":
        return b"\1\2\3"
    if fault == "zero-length":
        return pack(b"", data)
    if fault == "huge-length":
        return pack(text, data, (1 << 63) + 5)
    if fault == "long-length":
        return pack(text, data, len(text) + len(data) + 1)
    if fault == "no-json":
        return pack(b"\x89PNG" + text, data)
    if fault == "no-object":
        return pack(b"[1, 2]", data)
    if fault == "cut-json":
        return pack(text[:-5], data)
    if fault == "duplicate":
        return pack(text[:-1] + b", " + text[1:], data)
    if fault == "deep":
        return pack(b"[" * 100000, data)
    return pack(text, data)


def main(kind, out, fault=""):
    header, data = layout(change(kind, fault))
    if len(header) == 2:
        lie(header, fault)
    with open(out, "wb") as f:
        f.write(write(header, data, fault))


main(*sys.argv[1:])
