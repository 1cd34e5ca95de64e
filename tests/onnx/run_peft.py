#!/usr/bin/env python3
"""Adapters as Hugging Face's PEFT reads them.

  run_peft.py                                 # exit code 77: Python lacks a package
  run_peft.py make FAMILY FOLDER              # a base model with random weights, gpt2 or llama
  run_peft.py compare FOLDER ADAPTERS TOKENS LOGITS

`compare` loads the model of FOLDER and the adapters of the folder ADAPTERS onto it, and fails where its logits differ by
more than 1e-4 of the largest from those of the file LOGITS (fp32), or where the adapters change nothing.
"""
import sys

try:
    import numpy
    import torch
    from peft import PeftModel
    from transformers import AutoModelForCausalLM, GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM
except ImportError as error:
    print(error, file=sys.stderr)
    sys.exit(77)

VOCABULARY, LENGTH, WIDTH, BLOCKS = 23, 12, 16, 2


def make(family, folder):
    torch.manual_seed(7)
    if family == "gpt2":
        config = GPT2Config(vocab_size=VOCABULARY, n_positions=LENGTH, n_embd=WIDTH, n_layer=BLOCKS, n_head=2)
        model = GPT2LMHeadModel(config)
    else:
        config = LlamaConfig(vocab_size=VOCABULARY, max_position_embeddings=LENGTH, hidden_size=WIDTH,
                             intermediate_size=24, num_hidden_layers=BLOCKS, num_attention_heads=4,
                             num_key_value_heads=2)  # fmt: skip
        model = LlamaForCausalLM(config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
    model.save_pretrained(folder)


def compare(folder, adapters, tokens, logits):
    tokens = torch.tensor(numpy.fromfile(tokens, numpy.int64).reshape(-1, LENGTH))
    expected = torch.tensor(numpy.fromfile(logits, numpy.float32).reshape(-1, LENGTH, VOCABULARY))
    base = AutoModelForCausalLM.from_pretrained(folder).float().eval()
    with torch.no_grad():
        plain = base(tokens).logits
        model = PeftModel.from_pretrained(base, adapters).eval()
        found = model(tokens).logits
    largest = expected.abs().max()
    difference, change = (found - expected).abs().max() / largest, (found - plain).abs().max() / largest
    print(f"differs by {difference:.1e} of the largest logit {largest:.3g}, the adapters change {change:.1e}")
    assert difference < 1e-4, f"the logits differ by {difference} of the largest"
    assert change > 1e-2, "the adapters change nothing"


if len(sys.argv) > 1:
    {"make": make, "compare": compare}[sys.argv[1]](*sys.argv[2:])
