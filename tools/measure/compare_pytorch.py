#!/usr/bin/env python3
"""Times Spire and PyTorch in alternation on the same training steps of six models and prints the ratio pair by pair.

A shared machine is noisy, and only runs that lie side by side compare. So a pair is one run of each, the order changes
from pair to pair, and the figure is the median of the pairs' ratios, with the smallest and the largest beside it.

  tools/measure/setup_peer.sh .cache/peer
  tools/measure/calibrate_pytorch.py                 # PyTorch's best mode on this machine
  tools/measure/compare_pytorch.py --trainer build/release/tools/trainer --pairs 5
  tools/measure/compare_pytorch.py --trainer build/release/tools/trainer --peer native     # libtorch's C++ API: mlp, cnn
"""

import argparse
import json
import shlex
import statistics
from dataclasses import asdict
from pathlib import Path

from contenders import HERE, NATIVE_MODELS, Native, PyTorch, Spire
from runs import describe
from workloads import MODELS, PRECISIONS, WORKLOADS

ROOT = HERE.parents[1]
MIB = 2**20


def speed(samples_per_s):
    """Digits that a comparison can hold."""
    return f"{samples_per_s:.0f}" if samples_per_s >= 100 else f"{samples_per_s:.2f}"


def compare(spire, peer, model, precision, pairs):
    """[(Spire's sample, PyTorch's sample)], printed as they come."""
    results = []
    for pair in range(pairs):
        first, second = (spire, peer) if pair % 2 == 0 else (peer, spire)
        one, other = first.run(model, precision), second.run(model, precision)
        ours, theirs = (one, other) if pair % 2 == 0 else (other, one)
        results.append((ours, theirs))
        print(f"{model} {precision} pair {pair + 1}: "
              f"Spire {speed(ours.samples_per_s)}/s {ours.peak_rss / MIB:.0f} MiB, "
              f"PyTorch {speed(theirs.samples_per_s)}/s {theirs.peak_rss / MIB:.0f} MiB, "
              f"ratio {ours.samples_per_s / theirs.samples_per_s:.2f}", flush=True)
    return results


def summarise(results, mode):
    """Medians; the ratio's spread; memory as the kernel saw it, the larger of each contender's runs."""
    ratios = sorted(ours.samples_per_s / theirs.samples_per_s for ours, theirs in results)
    ours_rss = max(ours.peak_rss for ours, _ in results)
    theirs_rss = max(theirs.peak_rss for _, theirs in results)
    return {
        "ratio": statistics.median(ratios),
        "ratio_spread": [ratios[0], ratios[-1]],
        "spire_samples_per_s": statistics.median(ours.samples_per_s for ours, _ in results),
        "pytorch_samples_per_s": statistics.median(theirs.samples_per_s for _, theirs in results),
        "spire_peak_rss": ours_rss,
        "pytorch_peak_rss": theirs_rss,
        "memory_ratio": ours_rss / theirs_rss,
        "pytorch_mode": mode,
        "pairs": [{"spire": asdict(ours), "pytorch": asdict(theirs)} for ours, theirs in results],
    }


def print_table(table):
    print("\n| model | precision | Spire /s | PyTorch /s | ratio, median (spread) | memory MiB | memory ratio |")
    print("|---|---|---|---|---|---|---|")
    for (model, precision), row in table.items():
        low, high = row["ratio_spread"]
        print(f"| {model} | {precision} | "
              f"{speed(row['spire_samples_per_s'])} | {speed(row['pytorch_samples_per_s'])} | "
              f"{row['ratio']:.2f} ({low:.2f}..{high:.2f}) | {row['spire_peak_rss'] / MIB:.0f} : "
              f"{row['pytorch_peak_rss'] / MIB:.0f} | {row['memory_ratio']:.2f} |")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trainer", type=Path, required=True, help="Spire's trainer, a release build")
    parser.add_argument("--python", type=Path, default=ROOT / ".cache/peer/bin/python", help="from setup_peer.sh")
    parser.add_argument("--modes", type=Path, default=HERE / "peer_modes.json", help="from calibrate_pytorch.py")
    parser.add_argument("--peer", choices=("python", "native"), default="python", help="PyTorch in Python, or libtorch")
    parser.add_argument("--native", type=Path, default=ROOT / ".cache/peer/native_peer/native_peer",
                        help="from setup_peer.sh")
    parser.add_argument("--models", nargs="+", choices=MODELS, help="default: all that the peer has")
    parser.add_argument("--precisions", nargs="+", choices=PRECISIONS, default=PRECISIONS)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--seconds", type=float, help="timed seconds a run (default: those of the workload)")
    parser.add_argument("--towers", type=int, default=2)
    parser.add_argument("--tower-threads", type=int, default=1)
    parser.add_argument("--set", nargs="*", default=[], metavar="KEY=VALUE", help="further settings for trainer")
    parser.add_argument("--launcher", type=shlex.split, default=[], metavar="WORDS",
                        help="words in front of each contender's command, such as 'chrt -f 20'")
    parser.add_argument("--output", type=Path, default=Path("compare_pytorch.json"))
    arguments = parser.parse_args()
    if arguments.pairs < 1:
        parser.error("pairs must be at least 1")
    available = NATIVE_MODELS if arguments.peer == "native" else MODELS
    arguments.models = arguments.models or available
    for model in arguments.models:
        if model not in available:
            parser.error(f"the {arguments.peer} peer has no {model}; it has {', '.join(available)}")
        if WORKLOADS[model].batch % arguments.towers != 0:
            parser.error(f"{arguments.towers} towers do not divide {model}'s batch of {WORKLOADS[model].batch}")
    return arguments


def make_peer(arguments):
    if arguments.peer == "native":
        return Native(arguments.native, arguments.seconds, arguments.launcher)
    modes = json.loads(arguments.modes.read_text())["best"]
    return PyTorch(arguments.python, modes, arguments.seconds, arguments.launcher)


def main():
    arguments = parse_arguments()
    peer = make_peer(arguments)
    spire = Spire(arguments.trainer, arguments.seconds, arguments.set, arguments.towers, arguments.tower_threads,
                  arguments.launcher)
    table = {}
    for model in arguments.models:
        for precision in arguments.precisions:
            results = compare(spire, peer, model, precision, arguments.pairs)
            table[model, precision] = summarise(results, peer.mode(model, precision))
    print_table(table)
    rows = [{"model": model, "precision": precision, **row} for (model, precision), row in table.items()]
    report = {"machine": describe(), "torch": peer.version, "results": rows}
    arguments.output.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
