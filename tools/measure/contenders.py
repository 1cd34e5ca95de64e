"""The contenders behind one call: each trains one model at one precision in its own process and returns a Sample."""

import json
import math
from dataclasses import dataclass
from pathlib import Path

from runs import run, run_measured
from workloads import OPTIMIZERS, WORKLOADS, spire_settings

HERE = Path(__file__).resolve().parent
NATIVE_MODELS = ("mlp", "cnn")  # that native_peer/models.h has
WARM_UP_SECONDS = 1.5


@dataclass
class Sample:
    """One timed run. Memory in bytes: as the process says itself, and as the kernel says."""

    samples_per_s: float
    own_peak_rss: int
    peak_rss: int
    wall_seconds: float


class Peer:
    """What the two forms of PyTorch share: a command that prints one JSON line about its run."""

    def __init__(self, seconds=None, launcher=()):
        self.seconds = seconds  # timed in a run; None: the workload's
        self.launcher = list(launcher)  # words in front of the command
        self.version = None  # known after the first run

    def _run(self, model, words):
        seconds = self.seconds or WORKLOADS[model].seconds
        finished = run_measured([*self.launcher, *words, "--seconds", seconds, "--warm-up", WARM_UP_SECONDS])
        result = json.loads(finished.stdout.splitlines()[-1])
        self.version = result["torch"]
        return Sample(result["samples_per_s"], result["peak_rss"], finished.peak_rss, finished.seconds)


class PyTorch(Peer):
    """One Python process a run, with the mode that calibration found best for (model, precision)."""

    def __init__(self, python, modes, seconds=None, launcher=()):
        super().__init__(seconds, launcher)
        self.python, self.modes = python, modes

    def mode(self, model, precision):
        return self.modes[model][precision]

    def run(self, model, precision, mode=None):
        words = [self.python, HERE / "pytorch_worker.py", "--model", model, "--precision", precision]
        return self._run(model, [*words, "--mode", mode or self.mode(model, precision)])


class Native(Peer):
    """The program of native_peer/, on libtorch's C++ API; it has one mode, and NATIVE_MODELS only."""

    def __init__(self, program, seconds=None, launcher=()):
        super().__init__(seconds, launcher)
        self.program = program

    def mode(self, model, precision):
        return "native"

    def run(self, model, precision):
        workload = WORKLOADS[model]
        words = [self.program, "--model", model, "--precision", precision, "--batch", workload.batch]
        words += ["--lr", OPTIMIZERS[workload.optimizer]["lr"], "--warm-up-steps", workload.warm_up_steps]
        return self._run(model, [*words, "--threads", 2])


class Spire:
    """`trainer` with the workload's model, samples and optimizer on `towers` towers of CPU devices."""

    def __init__(self, trainer, seconds=None, settings=(), towers=2, tower_threads=1, launcher=()):
        self.trainer, self.seconds, self.extra = trainer, seconds, list(settings)
        self.towers, self.layout = towers, [f"towers={towers}", f"tower_threads={tower_threads}", "devices=cpu"]
        self.launcher = list(launcher)  # words in front of the command
        self.steps = {}  # (model, precision) -> steps that take about `seconds`

    def run(self, model, precision):
        workload = WORKLOADS[model]
        if (model, precision) not in self.steps:
            trial = self._run(model, precision, workload.trial_steps)
            seconds = self.seconds or workload.seconds
            self.steps[model, precision] = max(3, math.ceil(seconds * trial.samples_per_s / workload.batch))
        return self._run(model, precision, self.steps[model, precision])

    def _run(self, model, precision, steps):
        command = [*self.launcher, self.trainer, "--quiet", *spire_settings(model), *self.layout]
        command += [f"batch_size={WORKLOADS[model].batch // self.towers}", *self.extra]
        summary, finished = run([*command, f"precision={precision}", f"steps={steps}"])
        own = int(summary["peak_memory_bytes"]["host_rss"])
        return Sample(float(summary["samples_per_s"]), own, finished.peak_rss, finished.seconds)
