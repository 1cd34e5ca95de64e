#!/usr/bin/env python3
"""Training and prediction with default threads, beside busy processes and on an idle machine.

Beside one busy process for each core, in every round and in an order that rotates, each workload runs with default
threads, with one thread and with a thread for each core. The figure is the default's speed over that of the better of
the other two, the median over rounds (to be 0.7 or more). With --idle nothing else runs, and the figure is the speed
over that of another build, in alternating pairs (to be 0.98 or more of one that does not watch the load).

  tools/measure/busy_cores.py --trainer build/release/tools/trainer [--only mlp_8,gpt] [--idle OTHER_TRAINER]
"""

import argparse
import json
import os
import statistics
import struct
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from runs import COURSE, rotating, run_measured, spread

LAYOUT = [*COURSE, "devices=cpu", "towers=1", "optimizer.lr=0.001"]
IMAGES = ["data.name=synthetic", "data.synthetic.shape=[28,28,1]", "data.synthetic.samples=4096",
          "data.synthetic.test_samples=2"]
TEXT = "text.txt"  # in the folder of the runs
TOKENS = [f"data.tokens.text={TEXT}", "data.name=tokens", "data.tokens.vocabulary=characters", "data.tokens.length=64",
          "data.tokens.val_share=0.01"]


@dataclass(frozen=True)
class Workload:
    """A model and its batch. It predicts rows of images, or continues a text."""

    settings: tuple
    batch: int
    is_text: bool = False


def images(name, batch, *model):
    return Workload((f"model.name={name}", *model, *IMAGES), batch)


WORKLOADS = {
    **{f"mlp_{batch}": images("mlp", batch, "model.hidden=[512,256]") for batch in (8, 16, 128)},
    "cnn": images("cnn", 32),
    "gpt": Workload(("model.name=gpt", "model.blocks=2", "model.width=64", "model.heads=2", *TOKENS), 8, is_text=True),
}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trainer", type=Path, required=True, help="a release build")
    parser.add_argument("--idle", type=Path, metavar="TRAINER", help="nothing else runs; compare with this build")
    parser.add_argument("--only", default=",".join(WORKLOADS), help="workloads, joined by commas")
    parser.add_argument("--what", default="training,prediction", help="training, prediction or both")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=2.0, help="timed seconds a run, about")
    return parser.parse_args()


@contextmanager
def busy(count):
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def write_images(path, count):
    """Black ones, in NumPy's format."""
    header = f"{{'descr': '|u1', 'fortran_order': False, 'shape': ({count}, 28, 28, 1)}}".ljust(117) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + bytes(784 * count))


def write_text(path):
    """Words of four letters: 0 to 4096 in base 16."""
    path.write_text(" ".join(f"{number:04x}".translate({48 + d: 103 + d for d in range(10)}) for number in range(4096)))


class Runs:
    """Speeds of one workload, in samples/s."""

    def __init__(self, trainer, workload, folder, seconds):
        self.trainer, self.workload, self.folder, self.seconds = trainer, workload, folder, seconds
        self.steps = self.rows = None
        self.count = 0
        write_text(folder / TEXT)

    def training(self, threads):
        setting = [f"tower_threads={threads}"] if threads else []
        if self.steps is None:
            self.steps = self._scaled(self._train(50, ["tower_threads=1"]) / self.workload.batch)
        return self._train(self.steps, setting)

    def _scaled(self, per_second):
        return max(20, round(self.seconds * per_second))

    def _train(self, steps, settings):
        self.count += 1
        output = self.folder / f"run{self.count}"
        settings = [*settings, *(word.replace(TEXT, str(self.folder / TEXT)) for word in self.workload.settings)]
        command = [self.trainer, "train", "--quiet", *LAYOUT, *settings]
        run_measured([*command, f"batch_size={self.workload.batch}", f"steps={steps}", f"output={output}"])
        return float(json.loads((output / "summary.json").read_text())["samples_per_s"])

    def prediction(self, threads):
        """By two inputs of different length, so that the start of the program does not count."""
        environment = {"OMP_NUM_THREADS": str(threads)} if threads else {}
        if self.rows is None:
            self._train(1, ["tower_threads=1"])
            self.rows = 256
            one = {"OMP_NUM_THREADS": "1"}
            while self._predict(self.rows, one) - self._predict(1, one) < self.seconds / 4:
                self.rows *= 4
            self.rows *= 4
        return self.rows / max(1e-9, self._predict(self.rows, environment) - self._predict(1, environment))

    def _predict(self, rows, environment):
        command = [self.trainer, "predict", "--quiet", "--checkpoint", self.folder / f"run{self.count}"]
        if self.workload.is_text:
            return run_measured([*command, "--prompt", "g", "--tokens", rows], environment=environment).seconds
        path = self.folder / f"{rows}.npy"
        if not path.exists():
            write_images(path, rows)
        command += ["--batch", self.workload.batch, "--overwrite", "--to", self.folder / "predicted.csv", path]
        return run_measured(command, environment=environment).seconds


def row(name, what, speeds, ratios):
    cells = [f"{statistics.median(values):.0f}" for values in speeds.values()]
    print(f"| {name} | {what} | {' | '.join(cells)} | {spread(ratios, '.2f')} |", flush=True)


def main():
    arguments = parse_arguments()
    cores = len(os.sched_getaffinity(0))
    if cores < 2:
        sys.exit("a team of threads needs two cores")
    names = ["default", "other build"] if arguments.idle else ["default", "1 thread", f"{cores} threads"]
    print(f"| workload | of | {' | '.join(f'{name}, samples/s' for name in names)} | ratio, median (spread) |")
    print("|---|---|" + "---|" * (len(names) + 1))
    for name in arguments.only.split(","):
        with tempfile.TemporaryDirectory() as folder:
            runs = Runs(arguments.trainer, WORKLOADS[name], Path(folder), arguments.seconds)
            for what in arguments.what.split(","):
                measured = getattr(runs, what)
                choices = [(arguments.trainer, 0), (arguments.idle, 0)]
                if not arguments.idle:
                    choices = [(arguments.trainer, threads) for threads in (0, 1, cores)]

                def speed(trainer, threads, runs=runs, measured=measured):
                    runs.trainer = trainer
                    return measured(threads)

                measured(1)  # how long a run is
                ways = {way: (lambda c=choice, speed=speed: speed(*c)) for way, choice in zip(names, choices)}
                with busy(0 if arguments.idle else cores):
                    speeds = rotating(ways, arguments.rounds)
                first, *others = speeds.values()
                row(name, what, speeds, [own / max(rest) for own, *rest in zip(first, *others)])


if __name__ == "__main__":
    main()
