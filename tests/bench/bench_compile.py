#!/usr/bin/env python3
"""deepseek3-671b forward, from text to LOCAL: time and memory on 64 and on 16,384 devices, interleaved.

    bench_compile.py BUILD     must be under 0.1 s and 50 MiB each; the last number is the ratio of the times"""
import os
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
MESHES = {64: "fsdp=2,expert=2,tensor=8,context=2", 16384: "fsdp=32,expert=2,tensor=128,context=2"}
RUNS = 15


def once(shardc, mesh):
    """Processor seconds of the process (other work on the machine does not count) and its peak memory in MiB."""
    args = [shardc, "build", ROOT / "examples" / "deepseek.shard", "--config", "deepseek3_671b", "--mesh", mesh,
            "--emit=local", "-o", os.devnull, "-Wno-whole-tensor"]
    process = subprocess.Popen([str(a) for a in args], stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    assert status == 0
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main(build):
    shardc = ROOT / build / "shardc"
    seconds, memory = {n: [] for n in MESHES}, dict.fromkeys(MESHES, 0)
    for _ in range(RUNS + 1):
        for n, mesh in MESHES.items():
            s, m = once(shardc, mesh)
            seconds[n].append(s)
            memory[n] = max(memory[n], m)
    median = {n: statistics.median(s[1:]) for n, s in seconds.items()}
    for n, mesh in MESHES.items():
        print(f"{n:>6} devices ({mesh}): median {median[n] * 1e3:.1f} ms, min {min(seconds[n]) * 1e3:.1f} ms, "
              f"{memory[n]:.1f} MiB")
    print(f"time on 16384 devices over time on 64: {median[16384] / median[64]:.2f}")


main(sys.argv[1] if len(sys.argv) > 1 else "build-bench")
