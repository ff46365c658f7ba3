#!/usr/bin/env python3
"""Text to tokens, one a byte: u16, little endian, as `--data` reads them.

    python3 tokens.py tale.txt tale.bin
"""
import array
import sys


def main():
    source, target = sys.argv[1:]
    with open(source, "rb") as f:
        tokens = array.array("H", list(f.read()))
    if sys.byteorder == "big":
        tokens.byteswap()
    with open(target, "wb") as f:
        tokens.tofile(f)


main()
