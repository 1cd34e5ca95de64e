#!/usr/bin/env python3
"""One timed PyTorch training run on a GPU, for tools/gpu_check.sh: one model, one precision, eager or compiled.

Made-up samples that lie on the GPU already; channels_last, autocast, fused optimizers, gradients set to None, cuDNN's own
search for algorithms. Says "step 1" on stderr when the first step is done, and prints one JSON line at the end.
"""

import argparse
import json
import sys
import time

import torch
from peer_models import MODELS, Llama
from torch.nn import functional as F

DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
BATCHES = 4  # that the steps cycle over
SHAPES = {"resnet20": (3, 32, 32), "resnet50": (3, 224, 224)}
CLASSES = {"resnet20": 10, "resnet50": 1000, "gpt2": 50257, "llama": 32000}
LANGUAGE_MODELS = ("gpt2", "llama")  # on rows of 1024 tokens


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", choices=CLASSES, required=True)
    parser.add_argument("--precision", choices=DTYPES, required=True)
    parser.add_argument("--mode", choices=("eager", "compile"), required=True)
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--device", default="cuda", help="cuda, or cpu to try the script")
    parser.add_argument("--gpu", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=4.0, help="timed, after the warm-up")
    parser.add_argument("--warm-up", type=int, default=10, help="steps")
    return parser.parse_args()


def make_batches(arguments, device):
    """[(inputs, labels)]; images as channels_last, tokens with the next one as their label."""
    batches, classes = [], CLASSES[arguments.model]
    for _ in range(BATCHES):
        if arguments.model in LANGUAGE_MODELS:
            row = torch.randint(classes, (arguments.batch, 1025), device=device)
            batches.append((row[:, :-1].contiguous(), row[:, 1:].contiguous()))
            continue
        images = torch.randn(arguments.batch, *SHAPES[arguments.model], device=device)
        labels = torch.randint(classes, (arguments.batch,), device=device)
        batches.append((images.contiguous(memory_format=torch.channels_last), labels))
    return batches


def build(arguments, device):
    """(the model as it is called, its optimizer)"""
    model = {**MODELS, "llama": Llama}[arguments.model]().to(device).train()
    fused = device.type == "cuda"
    if arguments.model in LANGUAGE_MODELS:
        optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, weight_decay=0.1, fused=fused)
    else:
        model = model.to(memory_format=torch.channels_last)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, fused=fused)
    return (torch.compile(model) if arguments.mode == "compile" else model), optimizer


def make_step(model, optimizer, arguments, device):
    """A function of (inputs, labels) that runs one whole training step."""
    dtype = DTYPES[arguments.precision]
    scaler = torch.amp.GradScaler(device.type, enabled=arguments.precision == "fp16")

    def step(inputs, labels):
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device.type, dtype=dtype, enabled=dtype != torch.float32):
            logits = model(inputs)
            loss = F.cross_entropy(logits.flatten(0, -2), labels.flatten())
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        return loss

    return step


def run_for(seconds, least_steps, step, batches, wait):
    """(steps, seconds, last loss); looks at the clock, and waits for the GPU, every fifth step."""
    steps, start = 0, time.perf_counter()
    while True:
        for _ in range(5):
            loss = step(*batches[steps % BATCHES])
            steps += 1
        wait()
        elapsed = time.perf_counter() - start
        if elapsed >= seconds and steps >= least_steps:
            return steps, elapsed, loss.item()


def main():
    arguments = parse_arguments()
    device = torch.device("cuda", arguments.gpu) if arguments.device == "cuda" else torch.device("cpu")
    cuda = device.type == "cuda"
    wait = torch.cuda.synchronize if cuda else lambda: None
    if cuda:
        torch.cuda.set_device(device)
        torch.backends.cudnn.benchmark = True
    torch.manual_seed(7)
    step = make_step(*build(arguments, device), arguments, device)
    batches = make_batches(arguments, device)
    step(*batches[0])
    wait()
    print("step 1", file=sys.stderr, flush=True)
    run_for(0, arguments.warm_up, step, batches, wait)
    steps, seconds, loss = run_for(arguments.seconds, 1, step, batches, wait)
    result = {
        "samples_per_s": steps * arguments.batch / seconds,
        "steps": steps,
        "last_loss": loss,
        "peak_allocated": torch.cuda.max_memory_allocated() if cuda else 0,
        "torch": torch.__version__,
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
