#!/usr/bin/env python3
"""Training from a folder of images, by the number of reader threads: what decoding leaves of the speed.

Makes its own images (PNG, noise that is as hard to decode as photographs), two classes, in a temporary folder. Every
round runs each number of workers once; the figure is the median over rounds in samples/s.

  tools/measure/image_folder.py --trainer build/release/tools/trainer
"""

import argparse
import json
import random
import statistics
import struct
import tempfile
import zlib
from pathlib import Path

from processes import run_measured

SIZE = 96  # pixels a side that the model reads; the images have twice as many
COURSE = ["eval.every_epochs=0", "checkpoint.every_epochs=0", "epochs=1000000", "log.every_steps=1000"]
MODEL = ["model.name=cnn", "model.channels=[8,16]", "model.hidden=[32]", "optimizer.lr=0.01", "batch_size=16"]


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trainer", type=Path, required=True, help="a release build")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=200, help="of 16 images")
    parser.add_argument("--images", type=int, default=256)
    parser.add_argument("--settings", nargs="*", default=["devices=cpu", "towers=1", "tower_threads=1"])
    return parser.parse_args()


def chunk(kind, data):
    body = kind + data
    return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))


def png_image(random_bytes, width, height):
    """A PNG of RGB rows, none of them filtered, whose values are slow noise: half of it compresses."""
    rows = b"".join(b"\0" + bytes(b & 0xF for b in random_bytes(3 * width)) for _ in range(height))
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def make_images(root, count):
    numbers = random.Random(7)
    for half, images in (("train", count), ("val", 16)):
        for index in range(images):
            folder = root / half / f"class{index % 2}"
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{index:05}.png").write_bytes(png_image(numbers.randbytes, 2 * SIZE, 2 * SIZE))


def speed(arguments, images, workers):
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "run"
        command = [arguments.trainer, "train", "--quiet", *MODEL, *COURSE, *arguments.settings]
        command += ["data.name=image_folder", f"data.path={images}", f"data.image.size={SIZE}"]
        command += ["data.augment.random_resized_crop=true", "data.augment.flip=true", f"data.workers={workers}"]
        run_measured([*command, f"steps={arguments.steps}", f"output={output}"])
        return float(json.loads((output / "summary.json").read_text())["samples_per_s"])


def main():
    arguments = parse_arguments()
    speeds = {workers: [] for workers in arguments.workers}
    with tempfile.TemporaryDirectory() as folder:
        make_images(Path(folder), arguments.images)
        for _ in range(arguments.rounds):
            for workers, values in speeds.items():
                values.append(speed(arguments, folder, workers))
    print("| data.workers | samples/s, median (spread) |\n|---|---|")
    for workers, values in speeds.items():
        print(f"| {workers} | {statistics.median(values):.0f} ({min(values):.0f}..{max(values):.0f}) |")


if __name__ == "__main__":
    main()
