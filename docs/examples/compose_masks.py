#!/usr/bin/env python3
"""Makes pairs of images and masks from Fashion-MNIST: several images on a canvas, and the class of each pixel.

    docs/examples/compose_masks.py /usr/share/datasets/fashion-mnist composed
    trainer --config configs/fashion_masks_unet.yaml

A canvas is 48 x 48 pixels of gray noise with three images at random places, each over those before it. Its mask has
0 for the background, 1 + class where a image's pixel is 64 or brighter, and 255, no class, where it is fainter: the
rims of images. Needs Python alone. The same files every time.
"""

import argparse
import pathlib
import random

from fashion_images import png, read_idx

SIDE, PATCH, COUNT = 48, 28, 3
BRIGHT, UNCLEAR = 64, 255


def compose(images, labels, draw):
    canvas = bytearray(draw.randrange(48) for _ in range(SIDE * SIDE))
    mask = bytearray(SIDE * SIDE)
    for _ in range(COUNT):
        sample = draw.randrange(len(labels))
        top, left = draw.randrange(SIDE - PATCH + 1), draw.randrange(SIDE - PATCH + 1)
        for at in range(PATCH * PATCH):
            value = images[sample * PATCH * PATCH + at]
            if value == 0:
                continue
            place = (top + at // PATCH) * SIDE + left + at % PATCH
            canvas[place] = max(canvas[place], value) if value < BRIGHT else value
            mask[place] = 1 + labels[sample] if value >= BRIGHT else UNCLEAR
    return canvas, mask


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source", type=pathlib.Path, help="folder of Fashion-MNIST's IDX files")
    parser.add_argument("to", type=pathlib.Path, help="folder to make")
    parser.add_argument("--train", type=int, default=3000)
    parser.add_argument("--test", type=int, default=500)
    arguments = parser.parse_args()
    for split, prefix, count in (("train", "train", arguments.train), ("val", "t10k", arguments.test)):
        images = read_idx(arguments.source, f"{prefix}-images-idx3-ubyte")
        labels = read_idx(arguments.source, f"{prefix}-labels-idx1-ubyte")
        for part in ("input", "target"):
            (arguments.to / split / part).mkdir(parents=True, exist_ok=True)
        for number in range(count):
            canvas, mask = compose(images, labels, random.Random(f"{split} {number}"))
            (arguments.to / split / "input" / f"{number:05d}.png").write_bytes(png(canvas, SIDE))
            (arguments.to / split / "target" / f"{number:05d}.png").write_bytes(png(mask, SIDE))
    print(f"{arguments.train} and {arguments.test} pairs in {arguments.to}")


if __name__ == "__main__":
    main()
