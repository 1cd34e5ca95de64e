"""The two contenders behind one call: each trains one model at one precision and returns a Sample."""

import json
import math
import tempfile
from dataclasses import dataclass
from pathlib import Path

from processes import run_measured

HERE = Path(__file__).resolve().parent
MODELS = ("mlp", "cnn", "resnet20")
PRECISIONS = ("fp32", "bf16")
GLOBAL_BATCH = 128


@dataclass
class Sample:
    """One timed run. Memory in bytes: as the process says itself, and as the kernel says."""

    samples_per_s: float
    own_peak_rss: int
    peak_rss: int
    wall_seconds: float


class PyTorch:
    """One worker process a run, with the mode that calibration found best for (model, precision)."""

    def __init__(self, python, modes, seconds, data=None):
        self.python, self.modes, self.seconds, self.data = python, modes, seconds, data
        self.version = None  # known after the first run

    def run(self, model, precision, mode=None):
        command = [self.python, HERE / "pytorch_worker.py", "--model", model, "--precision", precision]
        command += ["--mode", mode or self.modes[model][precision], "--batch", GLOBAL_BATCH]
        command += ["--seconds", self.seconds] + (["--data", self.data] if self.data else [])
        finished = run_measured(command)
        result = json.loads(finished.stdout.splitlines()[-1])
        self.version = result["torch"]
        return Sample(result["samples_per_s"], result["peak_rss"], finished.peak_rss, finished.seconds)


class Spire:
    """`trainer` with the shipped config of the model and the comparison's batch, optimizer and towers."""

    SETTINGS = (
        *("optimizer.name=sgd", "optimizer.lr=0.05", "optimizer.momentum=0.9", "optimizer.nesterov=false"),
        *("optimizer.weight_decay=0", "optimizer.clip_norm=0", "schedule.name=constant", "loss.label_smoothing=0"),
        *("schedule.warmup_epochs=0", "data.augment.crop=0", "data.augment.flip=false", "data.last_batch=drop"),
        *("eval.every_epochs=0", "checkpoint.every_epochs=0", "checkpoint.every_steps=0", "epochs=1000000"),
    )

    def __init__(self, trainer, configs, seconds, settings=(), towers=2, tower_threads=1, launcher=()):
        self.trainer, self.configs, self.seconds, self.extra = trainer, Path(configs), seconds, list(settings)
        self.layout = [f"batch_size={GLOBAL_BATCH // towers}", f"towers={towers}"]
        self.layout += [f"tower_threads={tower_threads}", "devices=cpu"]
        self.launcher = list(launcher)  # words in front of the trainer's
        self.steps = {}  # (model, precision) -> steps that take about `seconds`

    def run(self, model, precision):
        if (model, precision) not in self.steps:
            trial = self._run(model, precision, 64)
            self.steps[model, precision] = math.ceil(self.seconds * trial.samples_per_s / GLOBAL_BATCH)
        return self._run(model, precision, self.steps[model, precision])

    def _run(self, model, precision, steps):
        with tempfile.TemporaryDirectory() as folder:
            output = Path(folder) / "run"
            command = [*self.launcher, self.trainer, "--config", self.configs / f"fashion_mnist_{model}.yaml", "--quiet"]
            command += [*self.SETTINGS, *self.layout, *self.extra]
            command += [f"precision={precision}", f"steps={steps}", f"output={output}"]
            finished = run_measured(command)
            summary = json.loads((output / "summary.json").read_text())
        own = int(summary["peak_memory_bytes"]["host_rss"])
        return Sample(float(summary["samples_per_s"]), own, finished.peak_rss, finished.seconds)
