#!/usr/bin/env python3
"""Records the first losses of Hugging Face's GPT-2 and Llama in PyTorch, which the tests hold Spire's against.

  python -m venv venv && venv/bin/pip install torch transformers
  venv/bin/python tests/peers/record_token_losses.py            # writes pytorch_token_losses.json beside this file
  venv/bin/python tests/peers/record_token_losses.py --spread   # how far PyTorch's own variants lie apart

Everything that a second implementation needs is in the JSON file's "setup". Weights come from the formula of
tests/weights/record.py, by the names that a saved file has.
"""

import argparse
import json
import math
from pathlib import Path

import numpy as np
import torch
import transformers
from torch.nn import functional as F

HERE = Path(__file__).resolve().parent
VOCABULARY, LENGTH, ROWS, STEPS, LR, MOMENTUM = 61, 32, 8, 100, 0.02, 0.9
SETUP = {
    "vocabulary": VOCABULARY, "length": LENGTH, "rows": ROWS, "lr": LR, "momentum": MOMENTUM,
    "text": "token i of the text is (i^2 + 3 i + i / 7 rounded down) mod vocabulary; row n of step s is its part of "
            "length + 1 tokens from (s * rows + n) * length on, the last of which is only a target",
    "weights": "FORMULA of tests/weights/record.py, by the names of a saved file",
    "loss": "mean cross entropy of the batch, before the step's update; plain SGD with momentum",
    "gpt": {"blocks": 2, "width": 64, "heads": 4},
    "llama": {"blocks": 2, "width": 64, "heads": 4, "kv_heads": 2, "mlp_width": 96, "rope_theta": 10000.0},
}  # fmt: skip


def uniform(name, count):
    """float64 in [-1, 1)."""
    h = 2166136261
    for byte in name.encode():
        h = ((h ^ byte) * 16777619) % 2**32
    mask = np.uint64(0xFFFFFFFF)
    x = (np.arange(count, dtype=np.uint64) + np.uint64(h)) & mask
    x = ((x ^ (x >> np.uint64(16))) * np.uint64(0x85EBCA6B)) & mask
    x = ((x ^ (x >> np.uint64(13))) * np.uint64(0xC2B2AE35)) & mask
    return 2.0 * ((x ^ (x >> np.uint64(16))) / 2.0**32) - 1.0


def set_weights(model):
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            u = uniform(name, parameter.numel())
            if parameter.dim() >= 2:
                u = u * math.sqrt(3.0 / parameter[0].numel())
            else:
                u = 0.1 * u + (1.0 if name.endswith(".weight") else 0.0)
            parameter.copy_(torch.from_numpy(u.astype(np.float32)).reshape(parameter.shape))


def gpt():
    config = transformers.GPT2Config(
        vocab_size=VOCABULARY, n_positions=LENGTH, n_embd=64, n_layer=2, n_head=4, resid_pdrop=0.0, embd_pdrop=0.0,
        attn_pdrop=0.0, bos_token_id=0, eos_token_id=0, attn_implementation="eager",
    )  # fmt: skip
    return transformers.GPT2LMHeadModel(config)


def llama():
    config = transformers.LlamaConfig(
        vocab_size=VOCABULARY, max_position_embeddings=LENGTH, hidden_size=64, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, intermediate_size=96, rms_norm_eps=1e-5,
        rope_parameters={"rope_type": "default", "rope_theta": 10000.0}, attn_implementation="eager",
    )  # fmt: skip
    return transformers.LlamaForCausalLM(config)


def rows_of(step):
    first = (step * ROWS + np.arange(ROWS))[:, None] * LENGTH + np.arange(LENGTH + 1)
    return torch.from_numpy((first * first + 3 * first + first // 7) % VOCABULARY)


def train(make, dtype=torch.float32, nudge_seed=None):
    """The loss of each step, taken before its update."""
    model = make()
    set_weights(model)
    if nudge_seed is not None:
        generator = torch.Generator().manual_seed(nudge_seed)
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.mul_(1.0 + 4e-7 * (torch.rand(parameter.shape, generator=generator) - 0.5))
    model = model.to(dtype).train()
    optimizer = torch.optim.SGD(model.parameters(), lr=LR, momentum=MOMENTUM)
    losses = []
    for step in range(STEPS):
        rows = rows_of(step)
        optimizer.zero_grad()
        logits = model(rows[:, :-1]).logits
        loss = F.cross_entropy(logits.reshape(-1, VOCABULARY), rows[:, 1:].reshape(-1))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def print_spread():
    """Largest relative distance of PyTorch's own variants from the recorded run: the floor of any tolerance."""
    for name, make in (("gpt", gpt), ("llama", llama)):
        recorded = train(make)
        for label, settings in {"nudged weights": {"nudge_seed": 1}, "float64": {"dtype": torch.float64}}.items():
            distances = [abs(a - b) / abs(b) for a, b in zip(train(make, **settings), recorded)]
            print(f"{name} {label}: {max(distances):.1e} at step {int(np.argmax(distances))}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--spread", action="store_true", help="print, record nothing")
    torch.set_num_threads(1)
    if parser.parse_args().spread:
        return print_spread()
    result = {
        "versions": {m.__name__: m.__version__ for m in (torch, transformers)},
        "setup": SETUP,
        "losses": {name: [float(f"{x:.9g}") for x in train(make)] for name, make in (("gpt", gpt), ("llama", llama))},
    }
    (HERE / "pytorch_token_losses.json").write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
