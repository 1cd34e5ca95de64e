#!/usr/bin/env python3
"""What Python adds to a step of the CNN: Trainer.step on batches of NumPy against Trainer.fit, in turn, one process.

Usage: PYTHONPATH=build/release/python library_steps.py [ROUNDS]
Prints the median over the rounds, with the smallest and the largest. The C interface: library_steps.cpp.
"""

import statistics
import sys
import time

import numpy as np
import spire

SAMPLES, BATCH, BLOCK = 64 * 128, 128, 60


class StepTimer:
    """Seconds from the end of a step to the end of the next: their median, as fit evaluates in between."""

    def __init__(self):
        self.ends = []

    def step_ended(self, _=None):
        self.ends.append(time.perf_counter())
        return len(self.ends) < BLOCK

    def seconds(self):
        return statistics.median(end - begin for begin, end in zip(self.ends, self.ends[1:]))


def fit_block(trainer):
    timer = StepTimer()
    trainer.fit(on_step=timer.step_ended)
    return timer.seconds()


def step_block(trainer, x, y):
    timer = StepTimer()
    for i in range(BLOCK):
        first = i * BATCH % SAMPLES
        trainer.step(x[first : first + BATCH], y[first : first + BATCH])
        timer.step_ended()
    return timer.seconds()


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 9
    generator = np.random.default_rng(1)
    x = generator.random((SAMPLES, 28, 28, 1), dtype=np.float32)
    y = generator.integers(0, 10, SAMPLES, dtype=np.int32)
    config = {"model": {"name": "cnn"}, "towers": 2, "tower_threads": 1, "devices": "cpu", "batch_size": 64,
              "epochs": 1000000, "optimizer": {"name": "adam", "lr": 0.001}}
    trainer = spire.Trainer(config, data=(x, y))
    fit_block(trainer)
    ratios = []
    for turn in range(rounds):
        if turn % 2:
            step, fit = step_block(trainer, x, y), fit_block(trainer)
        else:
            fit, step = fit_block(trainer), step_block(trainer, x, y)
        ratios.append(step / fit)
    print(f"seconds of a step by Trainer.step, of those in Trainer.fit: median {statistics.median(ratios):.4f} "
          f"({min(ratios):.4f}..{max(ratios):.4f}) of {rounds} rounds")


if __name__ == "__main__":
    main()
