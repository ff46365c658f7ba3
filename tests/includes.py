#!/usr/bin/env python3
"""Fails on an #include that points up: base < ir < op < pass < cost, emit < driver.

frontend uses base and ir; runtime uses nothing of compiler/."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
MAY = {
    "base": {"base"},
    "ir": {"base", "ir"},
    "op": {"base", "ir", "op"},
    "pass": {"base", "ir", "op", "pass"},
    "cost": {"base", "ir", "op", "pass", "cost"},
    "emit": {"base", "ir", "op", "pass", "cost", "emit", "runtime"},
    "driver": {"base", "ir", "op", "pass", "cost", "emit", "driver", "frontend", "runtime"},
    "frontend": {"base", "ir", "frontend"},
    "runtime": {"runtime"},
}


def main():
    bad = 0
    files = [p for folder in ("compiler", "frontend", "runtime") for p in (ROOT / folder).rglob("*")
             if p.suffix in (".c", ".h", ".y", ".l")]
    assert len(files) > 50
    for path in sorted(files):
        parts = path.relative_to(ROOT).parts
        layer = parts[1] if parts[0] == "compiler" else parts[0]
        for n, line in enumerate(path.read_text().splitlines(), 1):
            m = re.match(r'\s*#\s*include\s+"([^/"]+)/', line)
            if m and m.group(1) in MAY and m.group(1) not in MAY[layer]:
                print(f"{path.relative_to(ROOT)}:{n}: {layer} must not include {m.group(1)}/")
                bad += 1
    return bad > 0


sys.exit(main())
