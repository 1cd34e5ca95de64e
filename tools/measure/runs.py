"""Runs of a contender and their figures: what the kernel saw of each, speeds of `trainer` in an order that rotates, and
what all this holds for: the processor, its cores and its system."""

import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

# Steps alone: no evaluation, no checkpoint, no end before `steps`.
COURSE = ["eval.every_epochs=0", "checkpoint.every_epochs=0", "epochs=1000000", "log.every_steps=1000"]


@dataclass
class Finished:
    """A process that ended well."""

    stdout: str
    seconds: float  # wall time, start-up included
    peak_rss: int  # bytes: ru_maxrss of the process and the children it waited for


def run_measured(command, timeout=600.0, environment=None):
    """Runs `command`, with more variables; raises RuntimeError with the tail of its stderr if it fails or takes too long."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        start = time.perf_counter()
        process = subprocess.Popen([str(word) for word in command], stdout=out, stderr=err,
                                   env={**os.environ, **(environment or {})})
        watchdog = threading.Timer(timeout, process.kill)
        watchdog.start()
        _, status, usage = os.wait4(process.pid, 0)
        watchdog.cancel()
        seconds = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        if process.returncode != 0:
            raise RuntimeError(f"exit {process.returncode}: {' '.join(map(str, command))}\n{err.read()[-2000:]}")
        return Finished(out.read(), seconds, usage.ru_maxrss * 1024)


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


def cpu_field(name):
    """The field of the first processor in /proc/cpuinfo; "" if there is none."""
    lines = (line.partition(":") for line in Path("/proc/cpuinfo").read_text().splitlines())
    return next((value.strip() for key, _, value in lines if key.strip() == name), "")


def cpu_name():
    """With family and model, as virtual machines hide the name: "Intel(R) Xeon(R) Processor, family 6 model 207"."""
    name = cpu_field("model name") or platform.machine()
    return f"{name}, family {cpu_field('cpu family')} model {cpu_field('model')}"


def describe():
    flags = cpu_field("flags").split()
    return {
        "cpu": cpu_name(),
        "cores": len(os.sched_getaffinity(0)),
        "extensions": [flag for flag in ("avx2", "avx512f", "avx512_bf16", "amx_bf16") if flag in flags],
        "system": platform.platform(),
    }
