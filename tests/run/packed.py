"""Tensors of wanted numbers in little space: what a test compares to 1e-5 need not be stored to 1e-8.

A file is one xz stream: a line of JSON, then bytes. The JSON object has numbers and lists under their names, and under
"tensors" one entry a tensor, in the order of the bytes:

    name, shape     of the whole tensor
    stride          every stride-th element of the whole, row major, is a place of the tensor
    chosen          whether only those places are stored where the first gradient is not small (see `chosen`)
    largest         the largest magnitude in the whole tensor
    bits            a stored number is round(x / largest * 2^bits)

The numbers are zigzag coded (0, -1, 1, -2: 0, 1, 2, 3) in three bytes: all low bytes, then the middle, then the high ones.
Only the standard library is used to read."""
import array
import json
import lzma

# Below this share of the tensor's largest gradient Adam amplifies rounding.
SMALL = 1e-2
# Tensors of fewer elements are stored whole.
WHOLE = 2048


def places(size, stride):
    return range(0, size, stride if size >= WHOLE else 1)


def chosen(gradient, largest):
    """Which of a gradient's values are large enough that the parameter's update can be compared."""
    return [abs(g) >= SMALL * largest for g in gradient]


def encode(values, largest, bits):
    whole = [round(v / (largest or 1) * (1 << bits)) for v in values]
    coded = [2 * q if q >= 0 else -2 * q - 1 for q in whole]
    return b"".join(bytes(c >> shift & 255 for c in coded) for shift in (0, 8, 16))


def decode(raw, largest, bits):
    n, scale = len(raw) // 3, largest / (1 << bits)
    coded = (a | b << 8 | c << 16 for a, b, c in zip(raw[:n], raw[n:2 * n], raw[2 * n:]))
    return array.array("d", ((c >> 1 ^ -(c & 1)) * scale for c in coded))


def write(path, numbers, tensors):
    """tensors: [(entry, values)], the values already picked."""
    body, entries = [], []
    for entry, values in tensors:
        body.append(encode(values, entry["largest"], entry["bits"]))
        entries.append(entry | {"bytes": len(body[-1])})
    head = json.dumps(numbers | {"tensors": entries}).encode() + b"\n"
    path.write_bytes(lzma.compress(head + b"".join(body), preset=9))


def read(path):
    """-> numbers, {name: entry with the list `values`}."""
    with lzma.open(path) as f:
        numbers, body = json.loads(f.readline()), f.read()
    at, tensors = 0, {}
    for entry in numbers.pop("tensors"):
        raw, at = body[at:at + entry["bytes"]], at + entry["bytes"]
        tensors[entry["name"]] = entry | {"values": decode(raw, entry["largest"], entry["bits"])}
    return numbers, tensors
