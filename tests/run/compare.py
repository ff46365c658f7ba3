#!/usr/bin/env python3
"""Compares tensors of two .safetensors files by position.

    compare.py GOT WANT BOUND [NAME ..]     largest difference over the largest value of the wanted tensor
    compare.py --rms GOT WANT BOUND NAME..  rms of the difference over the rms of the wanted tensor

Prints a line a tensor; exits 1 if one is over the bound or missing."""
import array
import json
import math
import struct
import sys


def load(path):
    """{name: (shape, values)}; BF16 is widened."""
    with open(path, "rb") as f:
        blob = f.read()
    n = struct.unpack("<Q", blob[:8])[0]
    header, data, out = json.loads(blob[8:8 + n]), blob[8 + n:], {}
    for name, t in header.items():
        if name == "__metadata__":
            continue
        raw = data[t["data_offsets"][0]:t["data_offsets"][1]]
        if t["dtype"] == "BF16":
            half = array.array("H", raw)
            raw, kind = array.array("I", (h << 16 for h in half)).tobytes(), "f"
        else:
            kind = {"F32": "f", "I32": "i", "BOOL": "B"}[t["dtype"]]
        out[name] = (t["shape"], array.array(kind, raw))
    return out


def difference(got, want, rms):
    if rms:
        square = sum((g - w) ** 2 for g, w in zip(got, want))
        return math.sqrt(square / sum(w * w for w in want))
    most = max((abs(g - w) if g == g else math.inf) for g, w in zip(got, want))
    return most / max(max(abs(w) for w in want), 1e-30)


def main(args):
    rms = args[0] == "--rms"
    got_path, want_path, bound, *names = args[rms:]
    got, want = load(got_path), load(want_path)
    bad = 0
    for name in names or sorted(want):
        if name not in got or got[name][0] != want[name][0]:
            print(f"{name}: got {got.get(name, ['nothing'])[0]}, want {want[name][0]}")
            bad += 1
            continue
        d = difference(got[name][1], want[name][1], rms)
        print(f"{name}: {d:.2e} {'<=' if d <= float(bound) else '>'} {bound}")
        bad += not d <= float(bound)
    return bad > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
