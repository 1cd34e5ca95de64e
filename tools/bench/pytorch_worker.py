"""One timed PyTorch training run: one model, one precision, one mode, in a process of its own.

Prints one JSON line: samples a second after the warm-up, and resident memory in bytes. The mode is words joined by '+':
  eager | compile | autotune   how the model runs (torch.compile: default, or max-autotune)
  channels_last                activations and convolution weights in NHWC
  foreach | fused | loop       SGD's implementation (loop: PyTorch's default on CPU)
  keep_heap                    glibc keeps large blocks instead of returning them to the system after each step
  spin                         OpenMP threads spin between parallel regions instead of sleeping
"""

import argparse
import json
import os
import sys
import time

import fashion_mnist
import peer_models
import torch
from torch.nn import functional as F

PRELOADED_BATCHES = 64  # a slice of the real data set, normalized before the run: less memory than all of it
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
    parser.add_argument("--model", choices=peer_models.MODELS, required=True)
    parser.add_argument("--precision", choices=("fp32", "bf16"), required=True)
    parser.add_argument("--mode", required=True)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--warm-up", type=float, default=1.5, help="seconds, at least 20 steps")
    parser.add_argument("--data", default=fashion_mnist.DEFAULT_PATH)
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


def load_batches(model_type, batch, folder):
    images, labels = fashion_mnist.load_train(PRELOADED_BATCHES * batch, folder)
    return torch.from_numpy(images).reshape(-1, *model_type.input_shape), torch.from_numpy(labels)


def build(arguments):
    """(the model as it is called, its optimizer)"""
    model = peer_models.MODELS[arguments.model]().train()
    if "channels_last" in arguments.mode:
        model = model.to(memory_format=torch.channels_last)
    kind = {"foreach": "foreach" in arguments.mode, "fused": "fused" in arguments.mode}
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, **kind)
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
            loss = F.cross_entropy(model(inputs), labels)
        loss.backward()
        optimizer.step()
        return loss

    return step


def run_for(seconds, least_steps, step, inputs, labels, batch):
    """Cycles over the preloaded batches; returns (steps, seconds, CPU seconds of all threads, last loss)."""
    steps, start, cpu_start = 0, time.perf_counter(), time.process_time()
    while True:
        first = (steps % PRELOADED_BATCHES) * batch
        loss = step(inputs[first : first + batch], labels[first : first + batch])
        steps += 1
        elapsed = time.perf_counter() - start
        if elapsed >= seconds and steps >= least_steps:
            return steps, elapsed, time.process_time() - cpu_start, loss.item()


def main():
    arguments = parse_arguments()
    restart_with_environment(arguments.mode)
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(7)
    after_import = resident_bytes("VmRSS")
    inputs, labels = load_batches(peer_models.MODELS[arguments.model], arguments.batch, arguments.data)
    if "channels_last" in arguments.mode and inputs.dim() == 4:
        inputs = inputs.contiguous(memory_format=torch.channels_last)
    step = make_step(*build(arguments), arguments)
    run_for(arguments.warm_up, 20, step, inputs, labels, arguments.batch)
    steps, seconds, cpu_seconds, loss = run_for(arguments.seconds, 1, step, inputs, labels, arguments.batch)
    result = {
        "samples_per_s": steps * arguments.batch / seconds,
        "samples_per_cpu_s": steps * arguments.batch / cpu_seconds,
        "steps": steps,
        "last_loss": loss,
        "peak_rss": resident_bytes("VmHWM"),
        "rss_after_import": after_import,
        "torch": torch.__version__,
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
