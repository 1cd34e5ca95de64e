#!/usr/bin/env python3
"""What the invariant reduction costs against the native one, and what each strategy's step takes.

Every round runs each variant once, the order rotating from round to round; a variant's figure is the median over
rounds of its step time divided by that of the same round's `native` parameter_device run.

  tools/measure/compare_reductions.py --trainer build/release/tools/trainer --rounds 7
  tools/measure/compare_reductions.py --trainer build/release/tools/trainer --processes 2    # over mpirun
"""

import argparse
import json
import statistics
from pathlib import Path

from contenders import Spire
from runs import rotating, spread
from workloads import MODELS, PRECISIONS, WORKLOADS

BASE = ("native", "parameter_device")
VARIANTS = (BASE, ("invariant", "parameter_device"), ("invariant", "mirrored"), ("invariant", "sharded"))


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trainer", type=Path, required=True, help="a release build")
    parser.add_argument("--models", nargs="+", choices=MODELS, default=["cnn", "resnet20"])
    parser.add_argument("--precisions", nargs="+", choices=PRECISIONS, default=PRECISIONS)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=4.0, help="timed seconds a run")
    parser.add_argument("--towers", type=int, default=4)
    parser.add_argument("--processes", type=int, default=1, help="more than one: started by mpirun")
    parser.add_argument("--devices", default="2xcpu", help="of each process")
    parser.add_argument("--output", type=Path, default=Path("compare_reductions.json"))
    return parser.parse_args()


def contender(arguments, variant):
    reduction, strategy = variant
    settings = [f"reduction={reduction}", f"strategy={strategy}", f"devices={arguments.devices}"]
    launcher = [] if arguments.processes == 1 else ["mpirun", "-np", str(arguments.processes)]
    return Spire(arguments.trainer, arguments.seconds, settings, arguments.towers, launcher=launcher)


def measure(contenders, model, precision, rounds):
    """{variant: [step milliseconds, one a round]}"""

    def milliseconds(variant):
        return 1e3 * WORKLOADS[model].batch / contenders[variant].run(model, precision).samples_per_s

    return rotating({variant: lambda variant=variant: milliseconds(variant) for variant in VARIANTS}, rounds)


def main():
    arguments = parse_arguments()
    contenders = {variant: contender(arguments, variant) for variant in VARIANTS}
    report = []
    print("| model | precision | reduction | strategy | ms a step | of native, median (spread) |\n|---|---|---|---|---|---|")
    for model in arguments.models:
        for precision in arguments.precisions:
            times = measure(contenders, model, precision, arguments.rounds)
            for variant in VARIANTS:
                ratios = [own / base for own, base in zip(times[variant], times[BASE])]
                print(f"| {model} | {precision} | {variant[0]} | {variant[1]} | {statistics.median(times[variant]):.3f} | "
                      f"{spread(ratios, '.3f')} |", flush=True)
                report.append({"model": model, "precision": precision, "variant": variant, "ms": times[variant]})
    arguments.output.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
