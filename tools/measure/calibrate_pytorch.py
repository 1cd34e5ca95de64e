#!/usr/bin/env python3
"""Finds PyTorch's best mode for each model and precision on this machine and writes peer_modes.json.

Two rounds: how the model runs (eager, compiled, autotuned; NHWC or not), then optimizer, heap and OpenMP waiting for
the winner; --quick: only eager against compiled. Each mode is timed `--repeats` times, the rounds interleaved. The best
run counts, in PyTorch's favour, over earlier calibrations in the same file too, if they ran the same PyTorch on the
same processor. Start it on an idle machine.
"""

import argparse
import json
import shlex
from pathlib import Path

from contenders import HERE, PyTorch
from runs import cpu_name, run_measured
from workloads import MODELS, PRECISIONS, WORKLOADS

RUNS = ("eager", "compile", "autotune")
OPTIMIZERS = ("fused", "foreach", "loop")


def has_layouts(model):
    return not WORKLOADS[model].is_text and model != "mlp"


def first_round(model):
    layouts = ("", "+channels_last") if has_layouts(model) else ("",)
    return [f"{run}{layout}+fused+keep_heap" for run in RUNS for layout in layouts]


def quick_round(model):
    layout = "+channels_last" if has_layouts(model) else ""
    return [f"{run}{layout}+fused+keep_heap" for run in ("eager", "compile")]


def second_round(winner):
    base = winner.removesuffix("+fused+keep_heap")
    modes = [f"{base}+{optimizer}+keep_heap" for optimizer in OPTIMIZERS if optimizer != "fused"]
    return modes + [f"{base}+fused", f"{base}+fused+keep_heap+spin"]


def time_modes(peer, model, precision, modes, repeats, table):
    for _ in range(repeats):
        for mode in modes:
            try:
                sample = peer.run(model, precision, mode)
            except RuntimeError as error:
                print(f"{model} {precision} {mode}: {error}", flush=True)
                continue
            print(f"{model} {precision} {mode}: {sample.samples_per_s:.5g} samples/s, "
                  f"{sample.peak_rss / 2**20:.0f} MiB", flush=True)
            entry = table.setdefault(mode, {"samples_per_s": 0.0, "peak_rss": sample.peak_rss})
            entry["samples_per_s"] = max(entry["samples_per_s"], float(f"{sample.samples_per_s:.5g}"))
            entry["peak_rss"] = min(entry["peak_rss"], sample.peak_rss)


def torch_version(python):
    return run_measured([python, "-c", "import torch; print(torch.__version__)"]).stdout.strip()


def best(table):
    return max(table, key=lambda mode: table[mode]["samples_per_s"])


def calibrate(peer, model, precision, repeats, quick, table):
    """Times the modes of (model, precision); `table` keeps the best figure of each mode."""
    if quick:
        time_modes(peer, model, precision, quick_round(model), repeats, table)
        return
    time_modes(peer, model, precision, first_round(model), repeats, table)
    time_modes(peer, model, precision, second_round(best(table)), repeats, table)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", default=HERE.parents[1] / ".cache/peer/bin/python", help="from setup_peer.sh")
    parser.add_argument("--models", nargs="+", choices=MODELS, default=MODELS)
    parser.add_argument("--precisions", nargs="+", choices=PRECISIONS, default=PRECISIONS)
    parser.add_argument("--quick", action="store_true", help="only eager and torch.compile, in the usual layout")
    parser.add_argument("--seconds", type=float, help="timed seconds a run (default: those of the workload)")
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--launcher", type=shlex.split, default=[], metavar="WORDS", help="such as 'chrt -f 20'")
    parser.add_argument("--output", type=Path, default=HERE / "peer_modes.json")
    arguments = parser.parse_args()
    peer = PyTorch(arguments.python, {}, arguments.seconds, arguments.launcher)
    result = json.loads(arguments.output.read_text()) if arguments.output.exists() else {}
    here = {"torch": torch_version(arguments.python), "cpu": cpu_name()}
    if {key: result.get(key) for key in here} != here:  # the old winners stay for models that are not calibrated now
        result = {**here, "best": result.get("best", {})}
    for precision in arguments.precisions:
        for model in arguments.models:
            table = result.setdefault("timed", {}).setdefault(model, {}).setdefault(precision, {})
            calibrate(peer, model, precision, arguments.repeats, arguments.quick, table)
            result.setdefault("best", {}).setdefault(model, {})[precision] = best(table)
            arguments.output.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
