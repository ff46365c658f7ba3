#!/usr/bin/env python3
"""Runs a command and fails unless it ends with the exit code.

    exits.py [--file-size BYTES] CODE COMMAND...

With --file-size no file that it writes can grow beyond that. A sanitizer's report has a code of its own, so that it is
never taken for an error that was wanted."""
import os
import resource
import subprocess
import sys

SANITIZER = 99


def main(args):
    limit = None
    if args[0] == "--file-size":
        limit = int(args[1])
        args = args[2:]
    for key in ("ASAN_OPTIONS", "UBSAN_OPTIONS"):
        os.environ[key] = ":".join(filter(None, [os.environ.get(key), f"exitcode={SANITIZER}"]))

    def set_limit():
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    wanted, command = int(args[0]), args[1:]
    code = subprocess.run(command, check=False, preexec_fn=set_limit).returncode
    if code != wanted:
        sys.exit(f"exit code {code}, wanted {wanted}: {' '.join(command)}")


main(sys.argv[1:])
