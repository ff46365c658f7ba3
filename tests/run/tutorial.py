#!/usr/bin/env python3
"""Runs the commands of a document and looks for the output that it shows.

    tutorial.py DOCUMENT SHARDC

A command is an indented line after `$ `, gone on with while it ends in a backslash. It runs in an empty folder that has
examples/ and build/shardc. The lines below it must be among what it prints, in this order; `...` is where some are left out.
Numbers agree within 2 %, tokens/s are not compared, nor is the step at which a run stops. `^C` interrupts the command once
the lines before it have come."""
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
NOT_COMPARED = re.compile(r'[-+.e\d]+(?= tokens/s)|(?<="tokens_per_s": )[-+.e\d]+|(?<=^stopped after step )\d+')


def commands(text):
    """-> [(command, lines it shows)]"""
    found, goes_on = [], False
    for line in text.splitlines():
        body = line[4:]
        if not line.startswith("    "):
            goes_on = False
            if line:
                found.append(None)
        elif goes_on or body.startswith("$ "):
            command = found.pop()[0] + " " + body.strip() if goes_on else body[2:]
            goes_on = command.endswith("\\")
            found.append((command.rstrip("\\ "), []))
        elif found and found[-1] and body != "...":
            found[-1][1].append(body)
    return [f for f in found if f]


def is_number(word):
    return re.fullmatch(r"-?[\d.]+(e[-+]?\d+)?", word) is not None


def same_word(got, want):
    got, want = got.rstrip(","), want.rstrip(",")
    if not is_number(got) or not is_number(want):
        return got == want
    g, w = float(got), float(want)
    return abs(g - w) <= 0.02 * abs(w)


def same(got, want):
    g, w = (NOT_COMPARED.sub("*", line).split() for line in (got, want))
    return len(g) == len(w) and all(map(same_word, g, w))


def run(command, shows, folder):
    wanted, printed = list(shows), []
    with subprocess.Popen(["bash", "-c", "exec " + command], cwd=folder, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT) as child:
        for line in child.stdout:
            printed.append(line)
            if wanted and same(line, wanted[0]):
                del wanted[0]
            if wanted and wanted[0] == "^C":
                child.send_signal(signal.SIGINT)
                del wanted[0]
    if child.returncode or wanted:
        sys.exit(f"{command}\nexit code {child.returncode}; not printed: {wanted}\n{''.join(printed)}")


def main(document, shardc):
    found = commands(pathlib.Path(document).read_text())
    assert len(found) > 2, "no commands"
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(ROOT / "examples", os.path.join(folder, "examples"))
        os.mkdir(os.path.join(folder, "build"))
        os.symlink(os.path.abspath(shardc), os.path.join(folder, "build", "shardc"))
        for command, shows in found:
            run(command, shows, folder)


if __name__ == "__main__":
    main(*sys.argv[1:])
