#!/usr/bin/env python3
"""Guards the speed of Spire in three minutes: guard.json holds what was recorded for each processor.

  tools/measure/guard.py --trainer build/release/tools/trainer             # exit code 1: something is worse
  tools/measure/guard.py --trainer build/release/tools/trainer --record    # after a change that is to stay

Ratios: a few models against PyTorch, in pairs as compare_pytorch.py runs them. A ratio is worse when the best pair is
below the recorded median by more than --tolerance: other work on the machine spoils single pairs, not all of them.

Instructions: those that one step of a tiny model takes, which is what the engine itself adds to the kernels: the
difference of runs of N and 2 N steps, divided by N. Counted by `perf stat` where the processor's counters can be read,
otherwise by valgrind --tool=callgrind, which knows no AVX-512 and so needs a trainer for x86-64-v3:

  cmake --preset release -B build/portable -DSPIRE_ARCH=x86-64-v3 && cmake --build build/portable --target trainer
"""

import argparse
import json
import operator
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from compare_pytorch import ROOT, compare
from contenders import HERE, PyTorch, Spire
from runs import cpu_name

CASES = (("mlp", "bf16"), ("cnn", "bf16"), ("resnet20", "fp32"), ("gpt", "fp32"))
STEPS = 2000  # of the shorter run whose instructions are counted
TINY = (
    *("model.name=mlp", "model.hidden=[8]", "batch_size=1", "towers=1", "tower_threads=1", "devices=cpu"),
    *("data.name=synthetic", "data.synthetic.kind=features", "data.synthetic.shape=[8]", "data.synthetic.classes=2"),
    *("data.synthetic.samples=64", "data.synthetic.test_samples=1", "optimizer.name=sgd", "optimizer.lr=0.01"),
    *("eval.every_epochs=0", "checkpoint.every_epochs=0", "log.every_steps=1000000"),
)


def measure_ratios(arguments):
    """{"model precision": the pairs' ratios, ascending}"""
    modes = json.loads((HERE / "peer_modes.json").read_text())["best"]
    peer = PyTorch(arguments.python, modes, arguments.seconds, arguments.launcher)
    spire = Spire(arguments.trainer, arguments.seconds, launcher=arguments.launcher)
    ratios = {}
    for model, precision in CASES:
        results = compare(spire, peer, model, precision, arguments.pairs)
        ratios[f"{model} {precision}"] = sorted(ours.samples_per_s / theirs.samples_per_s for ours, theirs in results)
    return ratios


def perf_words(log):
    return ["perf", "stat", "-x,", "-e", "instructions:u", "-o", log]


def perf_count(log):
    """None where the counter is not there: its line then begins with <not supported>."""
    counts = [line.split(",")[0] for line in log.read_text().splitlines() if "instructions" in line]
    return int(counts[0]) if counts and counts[0].isdigit() else None


def callgrind_words(log):
    return ["valgrind", "--tool=callgrind", f"--callgrind-out-file={log}"]


def callgrind_count(log):
    totals = [line.split()[1] for line in log.read_text().splitlines() if line.startswith(("totals:", "summary:"))]
    return int(totals[0]) if totals else None


def count_instructions(words_of, count_of, trainer, steps):
    """Instructions of all threads in user mode; None if the tool counted nothing, or the run did not end well."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "count"
        command = [*words_of(log), trainer, "--quiet", *TINY, f"steps={steps}", f"output={folder}/run"]
        finished = subprocess.run([str(word) for word in command], capture_output=True, timeout=120)
        return count_of(log) if finished.returncode == 0 and log.exists() else None


def instructions_a_step(words_of, count_of, trainer):
    once, twice = (count_instructions(words_of, count_of, trainer, n * STEPS) for n in (1, 2))
    return None if once is None or twice is None else round((twice - once) / STEPS)


def measure_instructions(arguments):
    """({counter: instructions a step}, why there is none)"""
    if shutil.which("perf"):
        if (count := instructions_a_step(perf_words, perf_count, arguments.trainer)) is not None:
            return {"perf": count}, ""
    if not shutil.which("valgrind"):
        return {}, "perf reads no counter here, and valgrind is not installed"
    if not arguments.portable.exists():
        return {}, f"perf reads no counter, and there is no {arguments.portable}; guard.py --help says how to build it"
    count = instructions_a_step(callgrind_words, callgrind_count, arguments.portable)
    if count is None:
        return {}, f"valgrind cannot run {arguments.portable}; guard.py --help says how to build it"
    return {"callgrind": count}, ""


@dataclass
class Figure:
    """What was measured under one name of guard.json."""

    text: str
    best: float  # compared with the limit
    value: float  # to be recorded


def ratio_figures(ratios):
    return {case: Figure(f"{case}: {statistics.median(values):.2f} of PyTorch's speed, best pair {values[-1]:.2f}",
                         values[-1], round(statistics.median(values), 3)) for case, values in ratios.items()}


def instruction_figures(counts):
    return {counter: Figure(f"instructions of a tiny step by {counter}: {count}", count, count)
            for counter, count in counts.items()}


def judge(figures, recorded, share, worse):
    """True if no figure is worse (operator.lt or operator.gt) than `share` of the recorded one; prints each."""
    good = True
    for name, figure in figures.items():
        if name not in recorded:
            print(f"NOT RECORDED {figure.text}")
            continue
        limit = recorded[name] * share
        fails = worse(figure.best, limit)
        good = good and not fails
        print(f"{'WORSE       ' if fails else 'ok          '} {figure.text}, "
              f"recorded {recorded[name]:g}, limit {limit:g}")
    return good


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trainer", type=Path, default=ROOT / "build/release/tools/trainer", help="a release build")
    parser.add_argument("--portable", type=Path, default=ROOT / "build/portable/tools/trainer", help="for valgrind")
    parser.add_argument("--python", type=Path, default=ROOT / ".cache/peer/bin/python", help="from setup_peer.sh")
    parser.add_argument("--only", choices=("ratios", "instructions"), help="one part; instructions need no PyTorch")
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=3.0, help="timed seconds a run")
    parser.add_argument("--tolerance", type=float, default=0.08, help="by which a ratio may fall (0.08: 8 %%)")
    parser.add_argument("--instruction-tolerance", type=float, default=0.05, help="by which instructions may grow")
    parser.add_argument("--launcher", type=shlex.split, default=[], metavar="WORDS", help="such as 'chrt -f 20'")
    parser.add_argument("--figures", type=Path, default=HERE / "guard.json")
    parser.add_argument("--record", action="store_true", help="write what was measured as this processor's figures")
    arguments = parser.parse_args()
    needed = [arguments.trainer] if arguments.only == "instructions" else [arguments.trainer, arguments.python]
    for path in needed:
        if not path.exists():
            parser.error(f"there is no {path}")
    return arguments


def measure(arguments):
    """{part: its figures by name}, of the parts that were asked for"""
    parts = {}
    if arguments.only != "ratios":
        counts, missing = measure_instructions(arguments)
        parts["instructions"] = instruction_figures(counts)
        if missing:
            print(f"NOT MEASURED instructions of a step: {missing}")
    if arguments.only != "instructions":
        parts["ratios"] = ratio_figures(measure_ratios(arguments))
    return parts


def main():
    arguments = parse_arguments()
    recorded = json.loads(arguments.figures.read_text()) if arguments.figures.exists() else {}
    here = recorded.setdefault(cpu_name(), {})
    parts = measure(arguments)
    if arguments.record:
        for part, figures in parts.items():
            here.setdefault(part, {}).update({name: figure.value for name, figure in figures.items()})
        arguments.figures.write_text(json.dumps(recorded, indent=1) + "\n")
        print(f"recorded for {cpu_name()} in {arguments.figures}")
        return 0
    if not here:
        print(f"Nothing is recorded for {cpu_name()} in {arguments.figures}; --record writes it")
    limits = {"ratios": (1 - arguments.tolerance, operator.lt),
              "instructions": (1 + arguments.instruction_tolerance, operator.gt)}
    verdicts = [judge(figures, here.get(part, {}), *limits[part]) for part, figures in parts.items()]
    return 0 if all(verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
