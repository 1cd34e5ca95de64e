#!/usr/bin/env python3
"""Speed of torchvision's transforms (v2), one thread: torchvision_reader.py IMAGES COUNT [crop] [policy] [erase]

Reads COUNT images of an IDX file as a Dataset of PyTorch does, one at a time, and stacks batches of 128; prints images/s.
augmentation.py calls it, which makes the file.
"""

import sys
import time

import numpy as np
import torch
from torchvision.transforms import v2

BATCH = 128


def read_idx(path):
    with open(path, "rb") as file:
        header = np.frombuffer(file.read(16), ">u4")
        return torch.from_numpy(np.frombuffer(file.read(), np.uint8).reshape(header[1], 1, header[2], header[3]).copy())


def transforms(words, images):
    floats = images.float() / 255
    steps = []
    if "crop" in words:
        steps += [v2.RandomCrop(images.shape[-1], padding=2), v2.RandomHorizontalFlip()]
    if "policy" in words:
        steps += [v2.RandAugment(num_ops=1, magnitude=5)]
    steps += [v2.ToDtype(torch.float32, scale=True), v2.Normalize([floats.mean().item()], [floats.std().item()])]
    if "erase" in words:
        steps += [v2.RandomErasing(p=0.25)]
    return v2.Compose(steps)


def main():
    path, count, words = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
    torch.set_num_threads(1)
    torch.manual_seed(7)
    images = read_idx(path)
    apply = transforms(words, images)
    order = torch.randperm(len(images)).tolist()

    def batch(first):
        return torch.stack([apply(images[order[i % len(order)]]) for i in range(first, first + BATCH)])

    batch(0)  # what the first call alone takes is left out
    start = time.perf_counter()
    for first in range(0, count, BATCH):
        batch(first)
    print(count / (time.perf_counter() - start))


if __name__ == "__main__":
    main()
