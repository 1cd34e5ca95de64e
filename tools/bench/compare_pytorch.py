#!/usr/bin/env python3
"""Times Spire and PyTorch in alternation on the same training step and prints the ratio pair by pair.

A shared machine is noisy, and only runs that lie side by side compare. So a pair is one run of each, the order changes
from pair to pair, and the figure is the median of the pairs' ratios, with the smallest and the largest beside it.

  tools/bench/setup_peer.sh .cache/peer
  tools/bench/calibrate_pytorch.py                 # PyTorch's best mode on this machine
  tools/bench/compare_pytorch.py --trainer build/release/tools/trainer --pairs 7
"""

import argparse
import json
import os
import platform
import statistics
from dataclasses import asdict
from pathlib import Path

from contenders import GLOBAL_BATCH, HERE, MODELS, PRECISIONS, PyTorch, Spire

ROOT = HERE.parents[1]
MIB = 2**20


def compare(spire, peer, model, precision, pairs):
    """[(Spire's sample, PyTorch's sample)], printed as they come."""
    results = []
    for pair in range(pairs):
        first, second = (spire, peer) if pair % 2 == 0 else (peer, spire)
        one, other = first.run(model, precision), second.run(model, precision)
        ours, theirs = (one, other) if pair % 2 == 0 else (other, one)
        results.append((ours, theirs))
        print(f"{model} {precision} pair {pair + 1}: Spire {ours.samples_per_s:9.0f}/s {ours.peak_rss / MIB:5.0f} MiB, "
              f"PyTorch {theirs.samples_per_s:9.0f}/s {theirs.peak_rss / MIB:5.0f} MiB, "
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
        print(f"| {model} | {precision} | {row['spire_samples_per_s']:.0f} | {row['pytorch_samples_per_s']:.0f} | "
              f"{row['ratio']:.2f} ({low:.2f}..{high:.2f}) | {row['spire_peak_rss'] / MIB:.0f} : "
              f"{row['pytorch_peak_rss'] / MIB:.0f} | {row['memory_ratio']:.2f} |")


def machine():
    """What the figures hold for."""
    info = Path("/proc/cpuinfo").read_text()
    name = next((line.split(":")[1].strip() for line in info.splitlines() if line.startswith("model name")), "")
    bf16 = "avx512_bf16" in info
    return {"cpu": name, "cores": len(os.sched_getaffinity(0)), "avx512_bf16": bf16, "system": platform.platform()}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trainer", type=Path, required=True, help="Spire's trainer, a release build")
    parser.add_argument("--configs", type=Path, default=ROOT / "configs")
    parser.add_argument("--python", type=Path, default=ROOT / ".cache/peer/bin/python", help="from setup_peer.sh")
    parser.add_argument("--modes", type=Path, default=HERE / "peer_modes.json", help="from calibrate_pytorch.py")
    parser.add_argument("--data", help="folder of the IDX files, if not the Debian package's")
    parser.add_argument("--models", nargs="+", choices=MODELS, default=MODELS)
    parser.add_argument("--precisions", nargs="+", choices=PRECISIONS, default=PRECISIONS)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=5.0, help="timed seconds a run")
    parser.add_argument("--towers", type=int, default=2)
    parser.add_argument("--tower-threads", type=int, default=1)
    parser.add_argument("--set", nargs="*", default=[], metavar="KEY=VALUE", help="further settings for trainer")
    parser.add_argument("--output", type=Path, default=Path("compare_pytorch.json"))
    arguments = parser.parse_args()
    if arguments.pairs < 1 or GLOBAL_BATCH % arguments.towers != 0:
        parser.error(f"pairs must be at least 1 and towers divide {GLOBAL_BATCH}")
    return arguments


def main():
    arguments = parse_arguments()
    modes = json.loads(arguments.modes.read_text())["best"]
    peer = PyTorch(arguments.python, modes, arguments.seconds, arguments.data)
    settings = arguments.set + ([f"data.path={arguments.data}"] if arguments.data else [])
    spire = Spire(arguments.trainer, arguments.configs, arguments.seconds, settings, arguments.towers,
                  arguments.tower_threads)
    table = {}
    for model in arguments.models:
        for precision in arguments.precisions:
            results = compare(spire, peer, model, precision, arguments.pairs)
            table[model, precision] = summarise(results, modes[model][precision])
    print_table(table)
    rows = [{"model": model, "precision": precision, **row} for (model, precision), row in table.items()]
    report = {"machine": machine(), "torch": peer.version, "results": rows}
    arguments.output.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
