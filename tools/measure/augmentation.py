#!/usr/bin/env python3
"""Speed of one reader thread by what it does to the images: none, crops and flips, RandAugment, random erasing.

Makes its own images (IDX, grey noise of --side x --side) in a temporary folder, and trains a linear model on them, whose
steps take less time than the reader needs: the figure is what the reader delivers, in samples/s. The order of the kinds
rotates from round to round; printed are medians over rounds. With --torchvision the transforms of torchvision do the
same on one thread, right after each run, and the ratio is the median of the rounds' ratios.

  tools/measure/augmentation.py --trainer build/release/tools/trainer [--torchvision PYTHON]
"""

import argparse
import random
import statistics
import struct
import tempfile
from pathlib import Path

from runs import COURSE, rotating, run_measured, speed, spread

MODEL = ["model.name=linear", "optimizer.lr=0.001", "batch_size=128", "precision=fp32", "data.workers=1"]
CROPS = ["data.augment.crop=2", "data.augment.flip=true"]
POLICY = ["data.augment.rand_augment.count=1", "data.augment.rand_augment.magnitude=5"]
ERASING = ["data.augment.erase.probability=0.25"]
PEERS = {"crop": "crop", "RandAugment": "policy", "erase": "erase"}  # by word of a kind: torchvision_reader.py's
KINDS = {
    "none": [],
    "crop, flip": CROPS,
    "crop, flip, erase": [*CROPS, *ERASING],
    "crop, flip, RandAugment": [*CROPS, *POLICY],
    "crop, flip, RandAugment, erase": [*CROPS, *POLICY, *ERASING],
}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trainer", type=Path, required=True, help="a release build")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=4000, help="of 128 images")
    parser.add_argument("--side", type=int, default=28, help="pixels")
    parser.add_argument("--torchvision", metavar="PYTHON", type=Path, help="an interpreter that has torchvision")
    parser.add_argument("--peer-images", type=int, default=12800, help="that torchvision reads in a round")
    parser.add_argument("--settings", nargs="*", default=["devices=cpu", "towers=1", "tower_threads=1"])
    return parser.parse_args()


def make_images(folder, side):
    numbers = random.Random(7)
    for half, count in (("train", 4096), ("t10k", 128)):
        images = struct.pack(">IIII", 0x803, count, side, side) + numbers.randbytes(count * side * side)
        labels = struct.pack(">II", 0x801, count) + bytes(n % 10 for n in range(count))
        (folder / f"{half}-images-idx3-ubyte").write_bytes(images)
        (folder / f"{half}-labels-idx1-ubyte").write_bytes(labels)


def peer_speed(arguments, images, kind):
    command = [arguments.torchvision, Path(__file__).with_name("torchvision_reader.py")]
    command += [Path(images) / "train-images-idx3-ubyte", arguments.peer_images]
    words = [peer for word, peer in PEERS.items() if word in kind]
    return float(run_measured([*command, *words]).stdout)


def main():
    arguments = parse_arguments()
    peers = {kind: [] for kind in KINDS}
    with tempfile.TemporaryDirectory() as folder:
        make_images(Path(folder), arguments.side)

        def both(kind):
            words = [*MODEL, *COURSE, *arguments.settings, "data.name=idx", f"data.path={folder}", *KINDS[kind]]
            measured = speed(arguments.trainer, words, arguments.steps)
            if arguments.torchvision:
                peers[kind].append(peer_speed(arguments, folder, kind))
            return measured

        speeds = rotating({kind: lambda kind=kind: both(kind) for kind in KINDS}, arguments.rounds)
    more = " torchvision, samples/s | ratio |" if arguments.torchvision else ""
    print(f"| augmentation | samples/s, median (spread) | share of the first |{more}\n|---|---|---|{'---|---|' if more else ''}")
    first = statistics.median(speeds["none"])
    for kind, values in speeds.items():
        line = f"| {kind} | {spread(values)} | {statistics.median(values) / first:.2f} |"
        if arguments.torchvision:
            ratios = [ours / theirs for ours, theirs in zip(values, peers[kind])]
            line += f" {spread(peers[kind])} | {spread(ratios, '.2g')} |"
        print(line)


if __name__ == "__main__":
    main()
