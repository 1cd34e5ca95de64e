"""One timed PyTorch training run: one model, one precision, one mode, in a process of its own.

Prints one JSON line: samples a second after the warm-up, and resident memory in bytes. The mode is words joined by '+':
  eager | compile | autotune   how the model runs (torch.compile: default, or max-autotune)
  channels_last                activations and convolution weights in NHWC
  foreach | fused | loop       the optimizer's implementation (loop: PyTorch's default on CPU)
  keep_heap                    glibc keeps large blocks instead of returning them to the system after each step
  spin                         OpenMP threads spin between parallel regions instead of sleeping
"""

import argparse
import json
import os
import sys
import time

import torch
from peer_models import MODELS
from torch.nn import functional as F
from workloads import OPTIMIZERS, PRECISIONS, WORKLOADS

BATCHES = 4  # made before the run; the steps cycle over them
OPTIMIZER_TYPES = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW, "sgd": torch.optim.SGD}
ENVIRONMENT = {  # must be there before the process starts
    "keep_heap": {
        "MALLOC_MMAP_THRESHOLD_": str(1 << 30),
        "MALLOC_TRIM_THRESHOLD_": str(1 << 32),
        "MALLOC_TOP_PAD_": str(1 << 26),
    },
    "spin": {"OMP_WAIT_POLICY": "active", "GOMP_SPINCOUNT": "infinite"},
}
WORDS = {"eager", "compile", "autotune", "channels_last", "foreach", "fused", "loop", *ENVIRONMENT}


def resident_bytes(field):
    """VmRSS (now) or VmHWM (peak) of this process, without its children."""
    with open("/proc/self/status") as status:
        for line in status:
            if line.startswith(field):
                return int(line.split()[1]) * 1024
    raise RuntimeError(f"/proc/self/status has no {field}")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", choices=MODELS, required=True)
    parser.add_argument("--precision", choices=PRECISIONS, required=True)
    parser.add_argument("--mode", required=True)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--warm-up", type=float, default=1.5, help="seconds, and the workload's number of steps")
    arguments = parser.parse_args()
    arguments.mode = set(arguments.mode.split("+"))
    if unknown := arguments.mode - WORDS:
        parser.error(f"unknown mode words {sorted(unknown)}; known: {sorted(WORDS)}")
    return arguments


def restart_with_environment(mode):
    """Starts this process again (same pid) with the variables that the mode's words ask for."""
    wanted = {name: value for word in mode & ENVIRONMENT.keys() for name, value in ENVIRONMENT[word].items()}
    if any(os.environ.get(name) != value for name, value in wanted.items()):
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **wanted})


def make_batches(workload, dtype, channels_last):
    """[(inputs, labels)]: random images of `dtype`, or tokens with the next one as their label."""
    batches = []
    for _ in range(BATCHES):
        if workload.is_text:
            row = torch.randint(workload.classes, (workload.batch, workload.shape[0] + 1))
            batches.append((row[:, :-1].contiguous(), row[:, 1:].contiguous()))
            continue
        height, width, channels = workload.shape
        images = torch.randn(workload.batch, channels, height, width).to(dtype)
        if channels_last:
            images = images.contiguous(memory_format=torch.channels_last)
        batches.append((images, torch.randint(workload.classes, (workload.batch,))))
    return batches


def build(arguments, workload):
    """(the model as it is called, its optimizer)"""
    context = {"context": workload.shape[0]} if workload.is_text else {}
    model = MODELS[arguments.model](**context).train()
    if "channels_last" in arguments.mode:
        model = model.to(memory_format=torch.channels_last)
    kind = {"foreach": "foreach" in arguments.mode, "fused": "fused" in arguments.mode}
    settings = {"weight_decay": 0, **OPTIMIZERS[workload.optimizer], **kind}
    optimizer = OPTIMIZER_TYPES[workload.optimizer](model.parameters(), **settings)
    if "compile" in arguments.mode:
        model = torch.compile(model)
    elif "autotune" in arguments.mode:
        model = torch.compile(model, mode="max-autotune-no-cudagraphs")
    return model, optimizer


def make_step(model, optimizer, arguments):
    """A function of (inputs, labels) that runs one whole training step."""
    bf16 = arguments.precision == "bf16"

    def step(inputs, labels):
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=bf16):
            logits = model(inputs)
            loss = F.cross_entropy(logits.flatten(0, -2), labels.flatten())
        loss.backward()
        optimizer.step()
        return loss

    return step


def run_for(seconds, least_steps, step, batches):
    """Cycles over `batches`; returns (steps, seconds, CPU seconds of all threads, last loss)."""
    steps, start, cpu_start = 0, time.perf_counter(), time.process_time()
    while True:
        loss = step(*batches[steps % BATCHES])
        steps += 1
        elapsed = time.perf_counter() - start
        if elapsed >= seconds and steps >= least_steps:
            return steps, elapsed, time.process_time() - cpu_start, loss.item()


def main():
    arguments = parse_arguments()
    restart_with_environment(arguments.mode)
    torch.set_num_threads(arguments.threads)
    torch.set_flush_denormal(True)  # the few batches are learned by heart, and gradients become tiny
    torch.manual_seed(7)
    after_import = resident_bytes("VmRSS")
    workload = WORKLOADS[arguments.model]
    dtype = torch.bfloat16 if arguments.precision == "bf16" else torch.float32
    batches = make_batches(workload, dtype, "channels_last" in arguments.mode)
    step = make_step(*build(arguments, workload), arguments)
    run_for(arguments.warm_up, workload.warm_up_steps, step, batches)
    steps, seconds, cpu_seconds, loss = run_for(arguments.seconds, 3, step, batches)
    result = {
        "samples_per_s": steps * workload.batch / seconds,
        "samples_per_cpu_s": steps * workload.batch / cpu_seconds,
        "steps": steps,
        "last_loss": loss,
        "peak_rss": resident_bytes("VmHWM"),
        "rss_after_import": after_import,
        "torch": torch.__version__,
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
