#!/usr/bin/env python3
"""Times of single calls of a small regressor, Spire beside libtorch, in processes of their own, in turn.

Usage: compare_latency.py [--rounds N] SPIRE PEER   (programs library_latency and native_latency)
Prints a table: medians over the rounds, libtorch's time by Spire's.
"""
import argparse
import statistics
import subprocess
import time

NAMES = {"step_64": "step of 64 rows, µs", "parts_64": "gradients of 64 rows, clipped, update, µs",
         "predict_1": "outputs of 1 row, µs", "predict_64": "outputs of 64 rows, µs",
         "first_step": "start of the program to its first step, ms", "memory": "memory, MiB"}
COLUMNS = ("p50", "p99", "p50 beside busy cores", "p99 beside busy cores")


def run(program):
    lines = subprocess.run([program, str(time.monotonic_ns())], check=True, capture_output=True, text=True).stdout.splitlines()
    return {line.split()[0]: [float(word) for word in line.split()[1:]] for line in lines}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("spire")
    parser.add_argument("peer")
    options = parser.parse_args()
    runs = {options.spire: [], options.peer: []}
    for round_ in range(options.rounds):
        for program in list(runs)[::1 if round_ % 2 else -1]:
            runs[program].append(run(program))
    print("| | Spire | libtorch | ratio |\n|---|---|---|---|")
    for name, title in NAMES.items():
        for column in range(len(runs[options.spire][0][name])):
            spire, peer = (statistics.median(one[name][column] for one in runs[program]) for program in runs)
            which = f", {COLUMNS[column]}" if name not in ("first_step", "memory") else ""
            print(f"| {title}{which} | {spire:.1f} | {peer:.1f} | {peer / spire:.2f} |")


if __name__ == "__main__":
    main()
