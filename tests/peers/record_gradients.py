#!/usr/bin/env python3
"""Records PyTorch's logits and gradients, which the tests hold Spire's against. Rerun only to change the figures.

  python tests/peers/record_gradients.py             # writes pytorch_gradients.json beside this file
  python tests/peers/record_gradients.py --spread    # how far PyTorch's own float32 lies from its float64, by seed

Nothing but figures is stored: weights, images, tokens and labels come from FORMULA, and each tensor is told by its norm, by
sums with random signs, to which every element contributes, and by some of its elements.
"""

import argparse
import json
import math
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional as F

HERE = Path(__file__).resolve().parent
SIGNED_SUMS, ELEMENTS = 4, 8
FORMULA = (
    "h(name, i), in 32-bit unsigned arithmetic: x = i + 0x9e3779b1 * (seed + fnv1a32(name)); murmur3's finaliser: "
    "x ^= x >> 16; x *= 0x85ebca6b; x ^= x >> 13; x *= 0xc2b2ae35; x ^= x >> 16. u = h / 2^32 in float64. Element i "
    "(row-major) of a parameter: gamma 0.4 + 0.3u; beta +-(b + 0.3u), b what the model states as beta, + where h(name + '.sign', i) is even; bias "
    "(2u - 1) / 10; weights (2u - 1) sqrt(6 / fan_in), fan_in the product of all but the first extent; as float32. "
    "Images (N, H, W, C): 2u - 1 of 'images'; label n: h('labels', n) mod classes. Tokens (N, T): h('tokens', i) mod "
    "classes, what follows each: h('targets', i) mod classes. Signs of sum j: + where bit j of "
    "h('signs', i), seed 0, is 1. Elements: i = k (count - 1) / 7 rounded down, k = 0..7."
)


def fnv1a32(text):
    value = 0x811C9DC5
    for byte in text.encode():
        value = (value ^ byte) * 0x01000193 & 0xFFFFFFFF
    return value


def hashed(name, count, seed):
    """h(name, 0..count-1), uint64 below 2^32."""
    mask = np.uint64(0xFFFFFFFF)
    first = 0x9E3779B1 * ((seed + fnv1a32(name)) & 0xFFFFFFFF) & 0xFFFFFFFF
    x = (np.arange(count, dtype=np.uint64) + np.uint64(first)) & mask
    x = ((x ^ (x >> np.uint64(16))) * np.uint64(0x85EBCA6B)) & mask
    x = ((x ^ (x >> np.uint64(13))) * np.uint64(0xC2B2AE35)) & mask
    return x ^ (x >> np.uint64(16))


def uniform(name, count, seed):
    return hashed(name, count, seed) / 2.0**32


class Parameters:
    """Makes each parameter when the model first asks for it, under the name that Spire has for it."""

    def __init__(self, seed, beta, dtype):
        self.seed, self.beta, self.dtype, self.tensors = seed, beta, dtype, {}
        self.margin = math.inf  # of what went into a relu, the smallest absolute value

    def __call__(self, name, *shape):
        if name not in self.tensors:
            values = self.values(name, math.prod(shape), math.prod(shape[1:])).astype(np.float32)
            self.tensors[name] = torch.from_numpy(values).reshape(shape).to(self.dtype).requires_grad_()
        return self.tensors[name]

    def values(self, name, count, fan_in):
        u = uniform(name, count, self.seed)
        if name.endswith(".gamma"):
            return 0.4 + 0.3 * u
        if name.endswith(".beta"):
            # Away from 0, so that most channels lie on one side of the relu: an element near 0 that rounding tips over
            # changes a gradient by its whole share, in either implementation. Too far, and what is left of a beta's
            # gradient is rounding: a channel that is never cut loses its mean in the next norm.
            return np.where(hashed(name + ".sign", count, self.seed) % 2 == 0, 1, -1) * (self.beta + 0.3 * u)
        if name.endswith(".bias"):
            return (2 * u - 1) / 10
        return (2 * u - 1) * math.sqrt(6 / fan_in)

    def relu(self, x):
        self.margin = min(self.margin, x.detach().abs().min().item())
        return F.relu(x)


def conv_norm(p, name, x, channels, kernel, stride):
    x = F.conv2d(x, p(name + ".conv.weight", channels, x.shape[1], kernel, kernel), None, stride, kernel // 2)
    return F.batch_norm(x, None, None, p(name + ".norm.gamma", channels), p(name + ".norm.beta", channels), True)


def dense(p, name, x, units):
    return F.linear(x, p(name + ".weight", units, x.shape[-1]), p(name + ".bias", units))


def cifar_block(p, name, x, channels, stride, identity):
    y = p.relu(conv_norm(p, name + ".a", x, channels, 3, stride))
    y = conv_norm(p, name + ".b", y, channels, 3, 1)
    if x.shape != y.shape and identity:
        x = F.pad(x[:, :, ::2, ::2], (0, 0, 0, 0, 0, channels - x.shape[1]))
    elif x.shape != y.shape:
        x = conv_norm(p, name + ".shortcut", x, channels, 1, stride)
    return p.relu(x + y)


def resnet20(p, x, classes, identity=False):
    x = p.relu(conv_norm(p, "stem", x, 16, 3, 1))
    for stage in range(3):
        for block in range(3):
            stride = 2 if stage > 0 and block == 0 else 1
            x = cifar_block(p, f"stage{stage + 1}.block{block + 1}", x, 16 << stage, stride, identity)
    return dense(p, "head", x.mean(dim=(2, 3)), classes)


def resnet20_identity(p, x, classes):
    return resnet20(p, x, classes, identity=True)


def bottleneck(p, name, x, width, stride):
    y = p.relu(conv_norm(p, name + ".a", x, width, 1, 1))
    y = p.relu(conv_norm(p, name + ".b", y, width, 3, stride))
    y = conv_norm(p, name + ".c", y, 4 * width, 1, 1)
    if x.shape != y.shape:
        x = conv_norm(p, name + ".shortcut", x, 4 * width, 1, stride)
    return p.relu(x + y)


def resnet50(p, x, classes):
    x = p.relu(conv_norm(p, "stem", x, 64, 7, 2))
    x = F.max_pool2d(x, 3, 2, 1)
    for stage, blocks in enumerate((3, 4, 6, 3)):
        for block in range(blocks):
            stride = 2 if stage > 0 and block == 0 else 1
            x = bottleneck(p, f"stage{stage + 1}.block{block + 1}", x, 64 << stage, stride)
    return dense(p, "head", x.mean(dim=(2, 3)), classes)


def layer_norm(p, name, x, epsilon):
    return F.layer_norm(x, x.shape[-1:], p(name + ".gamma", x.shape[-1]), p(name + ".beta", x.shape[-1]), epsilon)


def self_attention(p, name, x, heads, causal):
    """Softmax written out: queries, keys and values are thirds of qkv's columns, head after head."""
    batch, length, width = x.shape
    qkv = dense(p, name + ".qkv", x, 3 * width).reshape(batch, length, 3, heads, width // heads)
    queries, keys, values = qkv.permute(2, 0, 3, 1, 4)
    scores = queries @ keys.transpose(-1, -2) / math.sqrt(width // heads)
    if causal:
        scores = scores.masked_fill(torch.ones(length, length, dtype=torch.bool).triu(1), -math.inf)
    y = scores.softmax(-1) @ values
    return dense(p, name + ".project", y.transpose(1, 2).reshape(batch, length, width), width)


def transformer_block(p, name, x, heads, causal, gelu, epsilon):
    x = x + self_attention(p, name + ".attention", layer_norm(p, name + ".norm1", x, epsilon), heads, causal)
    y = dense(p, name + ".mlp.up", layer_norm(p, name + ".norm2", x, epsilon), 4 * x.shape[-1])
    return x + dense(p, name + ".mlp.down", F.gelu(y, approximate=gelu), x.shape[-1])


def gpt2_of_2_blocks(p, tokens, vocabulary):
    width, heads = 768, 12
    table = p("tokens.weight", vocabulary, width)
    x = F.embedding(tokens, table) + p("positions.weight", tokens.shape[1], width)
    for block in range(2):
        x = transformer_block(p, f"block{block + 1}", x, heads, True, "tanh", 1e-5)
    return F.linear(layer_norm(p, "norm", x, 1e-5), table)


def vit_tiny(p, x, classes):
    width, heads, patch = 192, 3, 16
    x = F.conv2d(x, p("patches.weight", width, x.shape[1], patch, patch), p("patches.bias", width), patch)
    x = x.flatten(2).transpose(1, 2)
    x = torch.cat([p("class_token.weight", 1, width).expand(x.shape[0], 1, width), x], dim=1)
    x = x + p("positions.weight", x.shape[1], width)
    for block in range(12):
        x = transformer_block(p, f"block{block + 1}", x, heads, False, "none", 1e-6)
    return dense(p, "head", layer_norm(p, "norm", x, 1e-6)[:, 0], classes)


# Model, images (N, H, W, C) or tokens (N, T), classes or vocabulary, beta, seed.
MODELS = {
    "resnet20": (resnet20, (4, 32, 32, 3), 10, 0.6, 3),
    "resnet20_identity": (resnet20_identity, (4, 32, 32, 3), 10, 0.6, 3),
    "resnet50": (resnet50, (2, 64, 64, 3), 1000, 1.1, 4),
    "gpt2_of_2_blocks": (gpt2_of_2_blocks, (2, 80), 50257, 0.0, 1),
    "vit_tiny": (vit_tiny, (2, 64, 64, 3), 1000, 0.0, 1),
}


def samples(shape, classes, seed, dtype):
    """What the model reads, and what it is held against."""

    def chosen(kind, *extents):
        numbers = hashed(kind, math.prod(extents), seed) % np.uint64(classes)
        return torch.from_numpy(numbers.astype(np.int64)).reshape(extents)

    if len(shape) == 2:
        return chosen("tokens", *shape), chosen("targets", *shape)
    pixels = (2 * uniform("images", math.prod(shape), seed) - 1).astype(np.float32).reshape(shape)
    return torch.from_numpy(pixels).to(dtype).permute(0, 3, 1, 2), chosen("labels", shape[0])


def run(name, seed, dtype):
    """float64 arrays by name: "logits", and the gradient of the mean cross entropy by each parameter; the loss; the margin."""
    model, shape, classes, beta, _ = MODELS[name]
    read, labels = samples(shape, classes, seed, dtype)
    parameters = Parameters(seed, beta, dtype)
    logits = model(parameters, read, classes)
    loss = F.cross_entropy(logits.flatten(0, -2), labels.flatten())
    loss.backward()
    tensors = {"logits": logits} | {key: tensor.grad for key, tensor in parameters.tensors.items()}
    return {key: tensor.detach().double().numpy().ravel() for key, tensor in tensors.items()}, loss.item(), parameters.margin


def summary(values):
    """[norm, signed sums.., elements..], 9 digits."""
    bits = hashed("signs", values.size, 0)
    sums = [(np.where(bits >> np.uint64(j) & np.uint64(1), 1.0, -1.0) * values).sum() for j in range(SIGNED_SUMS)]
    elements = [values[k * (values.size - 1) // (ELEMENTS - 1)] for k in range(ELEMENTS)]
    return [float(f"{x:.9g}") for x in [np.linalg.norm(values), *sums, *elements]]


def distance(tensors, reference):
    """Largest |difference| / |reference| of any tensor, and which."""
    return max((np.linalg.norm(tensors[key] - reference[key]) / np.linalg.norm(reference[key]), key) for key in tensors)


def record(name):
    _, shape, classes, beta, seed = MODELS[name]
    reference, loss, margin = run(name, seed, torch.float64)
    relus = {"relu_margin": float(f"{margin:.2g}")} if margin < math.inf else {}
    return relus | {
        "tokens" if len(shape) == 2 else "images": shape,
        "classes": classes,
        "beta": beta,
        "seed": seed,
        "float32_distance": float(f"{distance(run(name, seed, torch.float32)[0], reference)[0]:.2g}"),
        "loss": float(f"{loss:.9g}"),
        "tensors": {key: summary(values) for key, values in reference.items()},
    }


def text_of(recorded):
    """JSON, one tensor a line."""
    parts = []
    for name, model in recorded["models"].items():
        head = json.dumps({key: value for key, value in model.items() if key != "tensors"})[1:-1]
        lines = ",\n".join(f"   {json.dumps(key)}: {json.dumps(values)}" for key, values in model["tensors"].items())
        parts.append(f'  {json.dumps(name)}: {{{head}, "tensors": {{\n{lines}}}}}')
    head = json.dumps({key: value for key, value in recorded.items() if key != "models"}, indent=1)[1:-2]
    return "{" + head + ',\n "models": {\n' + ",\n".join(parts) + "}\n}\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=HERE / "pytorch_gradients.json")
    parser.add_argument("--spread", nargs="*", choices=MODELS, metavar="MODEL", help="print, record nothing")
    arguments = parser.parse_args()
    if arguments.spread is not None:
        for name in arguments.spread or MODELS:
            for seed in range(1, 17):
                reference, _, margin = run(name, seed, torch.float64)
                far, where = distance(run(name, seed, torch.float32)[0], reference)
                print(f"{name} seed {seed}: {far:.1e} in {where}, relu margin {margin:.1e}", flush=True)
        return
    setup = {"torch": torch.__version__, "dtype": "float64, of float32 weights and images", "formula": FORMULA}
    recorded = setup | {"models": {name: record(name) for name in MODELS}}
    arguments.output.write_text(text_of(recorded))


if __name__ == "__main__":
    main()
