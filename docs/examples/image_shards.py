#!/usr/bin/env python3
"""Writes Fashion-MNIST as WebDataset's tar shards: train-0000.tar, ... and test-0000.tar, ...

    docs/examples/image_shards.py /usr/share/datasets/fashion-mnist data/fashion_shards
    trainer --config configs/fashion_mnist_shards.yaml

A sample is a PNG file and its class: 000123.png and 000123.cls. Needs Python alone. The same files every time.
"""

import argparse
import io
import pathlib
import tarfile

from fashion_images import png, read_idx

SIDE, PER_SHARD = 28, 6000


def add(shard, name, content):
    member = tarfile.TarInfo(name)
    member.size = len(content)
    shard.addfile(member, io.BytesIO(content))


def write_shards(images, labels, folder, prefix):
    for first in range(0, len(labels), PER_SHARD):
        with tarfile.open(folder / f"{prefix}-{first // PER_SHARD:04}.tar", "w", format=tarfile.USTAR_FORMAT) as shard:
            for sample in range(first, min(first + PER_SHARD, len(labels))):
                pixels = images[sample * SIDE * SIDE:(sample + 1) * SIDE * SIDE]
                add(shard, f"{sample:06}.png", png(pixels, SIDE))
                add(shard, f"{sample:06}.cls", str(labels[sample]).encode())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source", type=pathlib.Path, help="folder of Fashion-MNIST's IDX files")
    parser.add_argument("target", type=pathlib.Path, help="folder for the shards, made where it is missing")
    options = parser.parse_args()
    options.target.mkdir(parents=True, exist_ok=True)
    for prefix, name in (("train", "train"), ("test", "t10k")):
        images = read_idx(options.source, f"{name}-images-idx3-ubyte")
        labels = read_idx(options.source, f"{name}-labels-idx1-ubyte")
        write_shards(images, labels, options.target, prefix)


if __name__ == "__main__":
    main()
