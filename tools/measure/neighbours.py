#!/usr/bin/env python3
"""Two runs beside each other on one host, and one alone, pinned and not.

Every round runs, in an order that rotates: a one-thread run on each half of the cores alone (taskset), two of them
beside each other without taskset, and one run on all cores with pin=true, pin=false and pin=auto. The figures are medians over
rounds of ratios within a round: two beside each other against the sum of both alone on half of the cores (to be 0.95
or more), and the run on all cores unpinned and auto against pinned (to be 1). Two to three minutes on two cores.

  tools/measure/neighbours.py --trainer build/release/tools/trainer
"""

import argparse
import json
import os
import statistics
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from runs import COURSE, rotating, speed, spread

BATCH = 32  # samples a tower
MODEL = ["model.name=cnn", "precision=fp32", "optimizer.lr=0.01"]
DATA = ["data.name=synthetic", "data.synthetic.shape=[28,28,1]", "data.synthetic.samples=20000",
        "data.synthetic.test_samples=256"]


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trainer", type=Path, required=True, help="a release build")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=4.0, help="timed seconds a run")
    parser.add_argument("--output", type=Path, default=Path("neighbours.json"))
    return parser.parse_args()


class Runs:
    """Speeds of runs in samples/s: each trains for about the given seconds."""

    def __init__(self, trainer, seconds):
        self.trainer, self.seconds, self.steps = trainer, seconds, {}

    def speed(self, towers, cores=None, pin="auto"):
        if towers not in self.steps:
            trial = self._run(towers, 200, cores, pin)
            self.steps[towers] = max(50, round(self.seconds * trial / (BATCH * towers)))
        return self._run(towers, self.steps[towers], cores, pin)

    def _run(self, towers, steps, cores, pin):
        launcher = ["taskset", "-c", ",".join(map(str, cores))] if cores else []
        layout = ["devices=cpu", f"towers={towers}", "tower_threads=1", f"batch_size={BATCH}", f"pin={pin}"]
        return speed(self.trainer, [*MODEL, *DATA, *COURSE, *layout], steps, launcher)


def measure(runs, cores, rounds):
    """{what: [samples/s, one a round]}"""
    half = len(cores) // 2

    def beside():
        with ThreadPoolExecutor(2) as pool:
            return sum(pool.map(lambda _: runs.speed(1), range(2)))

    ways = {
        "alone on the first half": lambda: runs.speed(1, cores[:half]),
        "alone on the second half": lambda: runs.speed(1, cores[half:]),
        "two beside each other": beside,
        "all cores, pinned": lambda: runs.speed(len(cores), pin="true"),
        "all cores, not pinned": lambda: runs.speed(len(cores), pin="false"),
        "all cores, auto": lambda: runs.speed(len(cores)),
    }
    for towers in {1, len(cores)}:
        runs.speed(towers)  # how many steps a run takes
    return rotating(ways, rounds)


def ratio_row(name, ratios, least):
    return f"| {name} | {spread(ratios, '.3f')} | {least} |"


def main():
    arguments = parse_arguments()
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        sys.exit("two runs beside each other need two cores")
    speeds = measure(Runs(arguments.trainer, arguments.seconds), cores, arguments.rounds)
    print("| run | samples/s, median |\n|---|---|")
    for name, values in speeds.items():
        print(f"| {name} | {statistics.median(values):.0f} |")
    alone = [a + b for a, b in zip(speeds["alone on the first half"], speeds["alone on the second half"])]
    pinned = speeds["all cores, pinned"]

    def against(name, base):
        return [own / other for own, other in zip(speeds[name], base)]

    print("\n| ratio | median (spread) | to be |\n|---|---|---|")
    print(ratio_row("two beside each other / sum of both alone", against("two beside each other", alone), "0.95"))
    print(ratio_row("all cores, not pinned / pinned", against("all cores, not pinned", pinned), "1"))
    print(ratio_row("all cores, auto / pinned", against("all cores, auto", pinned), "1"))
    arguments.output.write_text(json.dumps(speeds, indent=1) + "\n")


if __name__ == "__main__":
    main()
