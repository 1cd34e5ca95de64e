#!/usr/bin/env python3
"""Records logits of torchvision's, Hugging Face's and plain PyTorch models, which the tests hold Spire's against.

  python -m venv venv && venv/bin/pip install torch torchvision transformers safetensors
  venv/bin/python tests/weights/record.py            # writes foreign_logits.json beside this file

Weights and inputs come from FORMULA, by the names that a saved file has, so that no file of weights is kept.
"""

import json
import math
import tempfile
from pathlib import Path

import numpy as np
import torch
import torchvision
import transformers
from safetensors.torch import load_file, save_file
from torch import nn
from torch.nn import functional as F

FORMULA = (
    "Element i of a tensor: h = 2166136261; for each byte of its name h = ((h ^ byte) * 16777619) mod 2^32; "
    "x = (i + h) mod 2^32; then murmur3's finaliser: x ^= x >> 16; x *= 0x85ebca6b; x ^= x >> 13; x *= 0xc2b2ae35; "
    "x ^= x >> 16; u = 2 x / 2^32 - 1 in float64. Tensors of two and more axes with more than one element in the first: "
    "u * sqrt(3 / fan_in), fan_in = product of all but the first extent; others: 0.1 u, but 1 + 0.1 u where the name "
    "ends with .weight, 1.5 + u where it ends with running_var. An input of images: u, an input of tokens: "
    "floor((u + 1) / 2 * vocabulary); their names are images and tokens, their layout N, H, W, C."
)


def uniform(name, count):
    """float64 in [-1, 1), see FORMULA."""
    h = 2166136261
    for byte in name.encode():
        h = ((h ^ byte) * 16777619) % 2**32
    mask = np.uint64(0xFFFFFFFF)
    x = (np.arange(count, dtype=np.uint64) + np.uint64(h)) & mask
    x = ((x ^ (x >> np.uint64(16))) * np.uint64(0x85EBCA6B)) & mask
    x = ((x ^ (x >> np.uint64(13))) * np.uint64(0xC2B2AE35)) & mask
    return 2.0 * ((x ^ (x >> np.uint64(16))) / 2.0**32) - 1.0


def values(name, tensor):
    u = uniform(name, tensor.numel())
    if tensor.dim() >= 2 and tensor.shape[0] > 1:
        u = u * math.sqrt(3.0 / tensor[0].numel())
    elif name.endswith("running_var"):
        u = 1.5 + u
    else:
        u = 0.1 * u + (1.0 if name.endswith(".weight") else 0.0)
    return torch.tensor(u.astype(np.float32)).reshape(tensor.shape)


def by_formula(state):
    return {
        name: values(name, tensor) if tensor.is_floating_point() else tensor for name, tensor in state.items()
    }


def images(batch, side, channels=3):
    """(N, C, H, W), from a formula over N, H, W, C."""
    u = uniform("images", batch * side * side * channels).astype(np.float32)
    return torch.tensor(u).reshape(batch, side, side, channels).permute(0, 3, 1, 2).contiguous()


def tokens(batch, length, vocabulary):
    u = uniform("tokens", batch * length)
    return torch.tensor(np.floor((u + 1) / 2 * vocabulary).astype(np.int64)).reshape(batch, length)


def of_module(module, rows):
    module.load_state_dict(by_formula(module.state_dict()))
    return module.eval()(rows)


def of_transformers(model, rows):
    """The names are those of a saved file, which differ from the module's own in newer versions."""
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        path = folder + "/model.safetensors"
        save_file(by_formula(load_file(path)), path, metadata={"format": "pt"})
        return type(model).from_pretrained(folder).eval()(rows).logits


class Cnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(3, 4, 3, padding=1), nn.Conv2d(4, 6, 3, padding=1)
        self.dense1, self.dense2 = nn.Linear(6 * 2 * 2, 7), nn.Linear(7, 5)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return self.dense2(F.relu(self.dense1(x.flatten(1))))


class Autoencoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.down1, self.down2 = nn.Conv2d(3, 4, 3, 2, 1), nn.Conv2d(4, 6, 3, 2, 1)
        self.encode1, self.decode1 = nn.Linear(6 * 2 * 2, 5), nn.Linear(5, 6 * 2 * 2)
        self.up2 = nn.ConvTranspose2d(6, 4, 3, 2, 1, output_padding=1)
        self.up1 = nn.ConvTranspose2d(4, 4, 3, 2, 1, output_padding=1)
        self.pixels = nn.Conv2d(4, 3, 3, padding=1)

    def forward(self, x):
        x = F.relu(self.down2(F.relu(self.down1(x))))
        x = F.relu(self.decode1(self.encode1(x.flatten(1)))).view(-1, 6, 2, 2)
        return self.pixels(F.relu(self.up1(F.relu(self.up2(x))))).permute(0, 2, 3, 1)


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.dense1, self.dense2 = nn.Linear(4 * 4 * 3, 6), nn.Linear(6, 5)

    def forward(self, x):
        return self.dense2(F.relu(self.dense1(x.flatten(1))))


def gpt2():
    config = transformers.GPT2Config(
        vocab_size=61, n_positions=16, n_embd=32, n_layer=2, n_head=4, bos_token_id=60, eos_token_id=60
    )
    return transformers.GPT2LMHeadModel(config)


def llama(**settings):
    config = transformers.LlamaConfig(
        vocab_size=61, max_position_embeddings=16, hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
        intermediate_size=48, **settings,
    )  # fmt: skip
    return transformers.LlamaForCausalLM(config)


def grouped_llama():
    rope = {"rope_type": "default", "rope_theta": 500.0}
    return llama(num_key_value_heads=2, rms_norm_eps=1e-5, rope_parameters=rope)


def hugging_face_vit():
    config = transformers.ViTConfig(
        image_size=16, patch_size=8, hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
        intermediate_size=128, num_labels=5, id2label={i: str(i) for i in range(5)},
    )  # fmt: skip
    return transformers.ViTForImageClassification(config)


def main():
    torch.manual_seed(0)
    vit = torchvision.models.VisionTransformer(16, 8, 2, 4, 32, 128, num_classes=5)
    logits = {
        "resnet18": of_module(torchvision.models.resnet18(num_classes=5), images(2, 64)),
        "resnet50": of_module(torchvision.models.resnet50(num_classes=5), images(2, 64)),
        "torchvision_vit": of_module(vit, images(2, 16)),
        "gpt2": of_transformers(gpt2(), tokens(2, 12, 61)),
        "llama": of_transformers(grouped_llama(), tokens(2, 12, 61)),
        "tied_llama": of_transformers(llama(tie_word_embeddings=True), tokens(2, 12, 61)),
        "vit": of_transformers(hugging_face_vit(), images(2, 16)),
        "cnn": of_module(Cnn(), images(2, 8)),
        "autoencoder": of_module(Autoencoder(), images(2, 8)),
        "mlp": of_module(Mlp(), images(2, 4)),
    }
    record = {
        "setup": {
            "formula": FORMULA,
            "versions": {m.__name__: m.__version__ for m in (torch, torchvision, transformers)},
        },
        "logits": {name: [float(f"{x:.7g}") for x in y.flatten().tolist()] for name, y in logits.items()},
    }
    path = Path(__file__).resolve().parent / "foreign_logits.json"
    path.write_text(json.dumps(record, indent=1).replace(",\n   ", ", ").replace("[\n   ", "[") + "\n")
    for name, y in logits.items():
        print(name, tuple(y.shape), f"{y.abs().max():.4g}")


if __name__ == "__main__":
    with torch.no_grad():
        main()
