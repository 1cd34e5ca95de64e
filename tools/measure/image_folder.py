#!/usr/bin/env python3
"""Training from a folder of images, by the number of reader threads: what decoding leaves of the speed.

Makes its own images (PNG, noise that is as hard to decode as photographs), two classes, in a temporary folder. Every
round runs each number of workers once, in an order that rotates; the figure is the median over rounds in samples/s.

  tools/measure/image_folder.py --trainer build/release/tools/trainer
"""

import argparse
import random
import struct
import tempfile
import zlib
from pathlib import Path

from runs import COURSE, rotating, speed, spread

SIZE = 96  # pixels a side that the model reads; the images have twice as many
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


def settings_of(arguments, images, workers):
    data = ["data.name=image_folder", f"data.path={images}", f"data.image.size={SIZE}", f"data.workers={workers}"]
    augmentation = ["data.augment.random_resized_crop=true", "data.augment.flip=true"]
    return [*MODEL, *COURSE, *arguments.settings, *data, *augmentation]


def main():
    arguments = parse_arguments()
    with tempfile.TemporaryDirectory() as folder:
        make_images(Path(folder), arguments.images)
        speeds = rotating({workers: lambda words=settings_of(arguments, folder, workers):
                           speed(arguments.trainer, words, arguments.steps) for workers in arguments.workers},
                          arguments.rounds)
    print("| data.workers | samples/s, median (spread) |\n|---|---|")
    for workers, values in speeds.items():
        print(f"| {workers} | {spread(values)} |")


if __name__ == "__main__":
    main()
