"""Runs of `trainer` whose speed is measured, in an order that rotates, and their figures as text."""

import json
import statistics
import sys
import tempfile
from pathlib import Path

from processes import run_measured

# Steps alone: no evaluation, no checkpoint, no end before `steps`.
COURSE = ["eval.every_epochs=0", "checkpoint.every_epochs=0", "epochs=1000000", "log.every_steps=1000"]


def run(command):
    """(summary.json of the run that the command makes, its process as run_measured() returns it)"""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "run"
        finished = run_measured([*command, f"output={output}"])
        return json.loads((output / "summary.json").read_text()), finished


def speed(trainer, settings, steps, launcher=()):
    """Samples/s of `trainer train` with these words. launcher: words in front of the command."""
    summary, _ = run([*launcher, trainer, "train", "--quiet", *settings, f"steps={steps}"])
    return float(summary["samples_per_s"])


def rotating(ways, rounds):
    """{name: [what ways[name]() returned, one a round]}"""
    names, results = list(ways), {name: [] for name in ways}
    for number in range(rounds):
        for index in range(len(names)):
            name = names[(number + index) % len(names)]
            results[name].append(ways[name]())
        print(f"round {number + 1} of {rounds}", file=sys.stderr, flush=True)
    return results


def spread(values, form=".0f"):
    """The median, with the least and the most."""
    return f"{statistics.median(values):{form}} ({min(values):{form}}..{max(values):{form}})"
