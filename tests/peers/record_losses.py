#!/usr/bin/env python3
"""Records PyTorch's first losses, which the tests hold Spire's against. Rerun only to change the figures.

  tools/measure/setup_peer.sh .cache/peer
  .cache/peer/bin/python tests/peers/record_losses.py            # writes pytorch_losses.json beside this file
  .cache/peer/bin/python tests/peers/record_losses.py --spread   # how far PyTorch's own variants lie apart

Everything that a second implementation needs is in the JSON file's "setup"; weights come from FORMULA.
"""

import argparse
import json
import math
import sys
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional as F

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tools" / "measure"))
import fashion_mnist  # noqa: E402
import peer_models  # noqa: E402

BATCH, MOMENTUM = 128, 0.9
# A relu or a maximum that rounding tips over changes the gradient by a whole sample's share, and a large step lets that
# grow: at 0.05 PyTorch's own variants lie 5e-2 (mlp) and 6e-1 (cnn) apart after 100 steps. See --spread.
LR = {"mlp": 0.002, "cnn": 0.0005, "resnet20": 0.0002}
SEED = {"mlp": 0, "cnn": 0, "resnet20": 0}
STEPS = {"mlp": 100, "cnn": 100, "resnet20": 10}
FORMULA = (
    "Parameters are numbered k = 0, 1, ... in the order listed under 'parameters'. Element i of parameter k, in "
    "PyTorch's plain layout, (out, in) or (O, I, KH, KW), row-major: x = (i + (k + 64 * seed) * 2^20) mod 2^32; then, "
    "in 32-bit unsigned arithmetic, murmur3's finaliser: x ^= x >> 16; x *= 0x85ebca6b; x ^= x >> 13; x *= 0xc2b2ae35; "
    "x ^= x >> 16; u = x / 2^32 in float64. Weights: float32((2u - 1) / sqrt(fan_in)), the quotient in float64, "
    "fan_in = product of all but the first extent. Biases and batch norm shifts: 0. Batch norm scales: 1."
)


def hashed_uniform(k, count, seed):
    """float64 in [0, 1), see FORMULA."""
    mask = np.uint64(0xFFFFFFFF)
    x = (np.arange(count, dtype=np.uint64) + np.uint64((k + 64 * seed) << 20)) & mask
    x = ((x ^ (x >> np.uint64(16))) * np.uint64(0x85EBCA6B)) & mask
    x = ((x ^ (x >> np.uint64(13))) * np.uint64(0xC2B2AE35)) & mask
    return (x ^ (x >> np.uint64(16))) / 2.0**32


def set_weights(model, seed):
    """Writes FORMULA's values into `model`; only parameters of rank 2 and more are weights."""
    with torch.no_grad():
        for k, (name, parameter) in enumerate(model.named_parameters()):
            if parameter.dim() == 1:
                parameter.fill_(1.0 if "norm" in name and name.endswith("weight") else 0.0)
                if name.endswith("projection.1.weight"):
                    parameter.fill_(1.0)
                continue
            fan_in = parameter[0].numel()
            values = (2.0 * hashed_uniform(k, parameter.numel(), seed) - 1.0) / math.sqrt(fan_in)
            parameter.copy_(torch.from_numpy(values.astype(np.float32)).reshape(parameter.shape))


def first_batches(statistics_of, count):
    """Normalized images (n, 28, 28) and labels (n,), in file order, not shuffled."""
    images = fashion_mnist.read_idx(statistics_of, "train-images-idx3-ubyte")
    labels = fashion_mnist.read_idx(statistics_of, "train-labels-idx1-ubyte")
    mean, std = fashion_mnist.pixel_statistics(images)
    pixels = fashion_mnist.normalized(images[: count * BATCH], mean, std)
    return pixels, labels[: count * BATCH].astype(np.int64), mean, std


def train(name, pixels, labels, dtype=torch.float32, channels_last=False, nudge_seed=None):
    """The loss of each step, taken before its update."""
    model = peer_models.ON_FASHION_MNIST[name]()
    set_weights(model, SEED[name])
    if nudge_seed is not None:
        nudge(model, nudge_seed)
    model = model.to(dtype).train()
    if channels_last:
        model = model.to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=LR[name], momentum=MOMENTUM)
    inputs = torch.from_numpy(pixels).to(dtype).reshape(-1, *model.input_shape)
    targets = torch.from_numpy(labels)
    losses = []
    for step in range(STEPS[name]):
        batch = slice(step * BATCH, (step + 1) * BATCH)
        optimizer.zero_grad()
        loss = F.cross_entropy(model(inputs[batch]), targets[batch])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def nudge(model, seed):
    """Moves each weight by up to 2 parts in 10^7, about what rounding does."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(1.0 + 4e-7 * (torch.rand(parameter.shape, generator=generator) - 0.5))


def print_spread(pixels, labels, names):
    """Largest relative distance of PyTorch's own variants from the recorded run: the floor of any tolerance."""
    torch.set_num_threads(1)
    variants = {
        "channels_last": {"channels_last": True},
        "nudged weights, 1": {"nudge_seed": 1},
        "nudged weights, 2": {"nudge_seed": 2},
        "float64": {"dtype": torch.float64},
    }
    for name in names:
        recorded = train(name, pixels, labels)
        for label, settings in variants.items():
            losses = train(name, pixels, labels, **settings)
            distances = [abs(a - b) / abs(b) for a, b in zip(losses, recorded)]
            print(f"{name} {label}: {max(distances):.1e} at step {int(np.argmax(distances))}", flush=True)


def record(pixels, labels, mean, std):
    """The JSON text: each loss of the float32 run on one thread with 9 digits, which float32 needs."""
    torch.set_num_threads(1)
    result = {
        "torch": torch.__version__,
        "setup": {
            "data": "Fashion-MNIST train, batches of 128 in file order, no shuffle, no augmentation",
            "normalization": "float32((p / 255 - mean) / std), computed in float64, of all train pixels",
            "mean": mean,
            "std": std,
            "optimizer": {"name": "sgd", "lr": LR, "momentum": MOMENTUM, "nesterov": False, "weight_decay": 0.0},
            "loss": "mean cross entropy of the batch, before the step's update",
            "weights": FORMULA,
            "seed": SEED,
        },
        "parameters": {
            name: [[key, list(p.shape)] for key, p in peer_models.ON_FASHION_MNIST[name]().named_parameters()] for name in STEPS
        },
        "losses": {name: [float(f"{x:.9g}") for x in train(name, pixels, labels)] for name in STEPS},
    }
    return json.dumps(result, indent=1) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=fashion_mnist.DEFAULT_PATH)
    parser.add_argument("--output", type=Path, default=HERE / "pytorch_losses.json")
    parser.add_argument("--spread", nargs="*", choices=STEPS, metavar="MODEL", help="print, record nothing")
    arguments = parser.parse_args()
    pixels, labels, mean, std = first_batches(arguments.data, max(STEPS.values()))
    if arguments.spread is not None:
        print_spread(pixels, labels, arguments.spread or STEPS)
    else:
        arguments.output.write_text(record(pixels, labels, mean, std))


if __name__ == "__main__":
    main()
