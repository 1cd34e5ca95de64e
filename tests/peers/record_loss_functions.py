#!/usr/bin/env python3
"""Records PyTorch's losses and their gradients in float64, which the tests hold Spire's against.

  python tests/peers/record_loss_functions.py     # writes pytorch_loss_functions.json beside this file

A loss is the sum over samples, a gradient that of the mean over samples. The numbers are multiples of 1/8, which every
float type holds exactly. Two definitions differ from PyTorch's, and are recorded as Spire states them, in terms of
functions of PyTorch: weighted classes are divided by the number of samples, not by the sum of their weights, and the
z-loss is a function of torch.logsumexp.
"""

import json
from pathlib import Path

import torch
import torchvision
from torch.nn import functional as F
from torchvision.ops import sigmoid_focal_loss

N, K = 6, 5
WEIGHTS = [0.5, 2.0, 1.0, 3.0, 0.25]


def grid(rows, columns, formula):
    return [[formula(n, k) for k in range(columns)] for n in range(rows)]


OUTPUTS = grid(N, K, lambda n, k: ((7 * n * n + 5 * k * k + 3 * n * k) % 23 - 11) / 4)
TEACHER = grid(N, K, lambda n, k: ((5 * n * n + 3 * k * k + n * k) % 19 - 9) / 4)
VALUES = grid(N, K, lambda n, k: ((3 * n + 5 * k * k) % 13 - 6) / 2)
BITS = grid(N, K, lambda n, k: float((n + k) % 3 == 0))
LABELS = [(n * n + 1) % K for n in range(N)]

outputs = torch.tensor(OUTPUTS, dtype=torch.float64)
teacher = torch.tensor(TEACHER, dtype=torch.float64)
values = torch.tensor(VALUES, dtype=torch.float64)
bits = torch.tensor(BITS, dtype=torch.float64)
labels = torch.tensor(LABELS)
weights = torch.tensor(WEIGHTS, dtype=torch.float64)


def entropy(x, smoothing=0.0):
    return F.cross_entropy(x, labels, reduction="none", label_smoothing=smoothing)


def kl(x, temperature):
    log_p = F.log_softmax(x / temperature, -1)
    log_q = F.log_softmax(teacher / temperature, -1)
    return temperature**2 * F.kl_div(log_p, log_q, reduction="none", log_target=True).sum(-1)


def focal(x, gamma, weight=None):
    p = torch.softmax(x, -1)[torch.arange(N), labels]
    loss = (1 - p) ** gamma * entropy(x)
    return loss if weight is None else loss * weight[labels]


# Two classes with the logits (x, 0) are one with a sigmoid.
def two_classes(x, gamma, alpha):
    return sigmoid_focal_loss(x[:, 0], 1.0 - (labels % 2), alpha=alpha, gamma=gamma, reduction="none")


CASES = {
    "cross_entropy": entropy,
    "label_smoothing": lambda x: entropy(x, 0.125),
    "class_weights": lambda x: F.cross_entropy(x, labels, weight=weights, reduction="none"),
    "z_loss": lambda x: entropy(x) + 0.25 * torch.logsumexp(x, -1) ** 2,
    "focal": lambda x: focal(x, 2.0),
    "focal_weighted": lambda x: focal(x, 0.5, weights),
    "focal_two_classes": lambda x: two_classes(x, 2.0, 0.25),
    "binary": lambda x: F.binary_cross_entropy_with_logits(x, bits, reduction="none").mean(-1),
    "huber": lambda x: F.huber_loss(x, values, reduction="none", delta=1.25).mean(-1),
    "mse": lambda x: F.mse_loss(x, values, reduction="none").mean(-1),
    "l1": lambda x: F.l1_loss(x, values, reduction="none").mean(-1),
    "kl": lambda x: kl(x, 1.0),
    "distillation": lambda x: 0.25 * entropy(x) + 0.75 * kl(x, 4.0),
}


def record(formula):
    x = outputs.clone().requires_grad_()
    loss = formula(x).sum()
    (loss / N).backward()
    return {"loss": loss.item(), "gradient": x.grad.flatten().tolist()}


figures = {
    "versions": {"torch": torch.__version__, "torchvision": torchvision.__version__},
    "outputs": OUTPUTS,
    "teacher": TEACHER,
    "values": VALUES,
    "bits": BITS,
    "labels": LABELS,
    "class_weights": WEIGHTS,
    "cases": {name: record(formula) for name, formula in CASES.items()},
}
lines = ",\n".join(f" {json.dumps(key)}: {json.dumps(value)}" for key, value in figures.items() if key != "cases")
cases = ",\n".join(f"  {json.dumps(name)}: {json.dumps(case)}" for name, case in figures["cases"].items())
path = Path(__file__).with_name("pytorch_loss_functions.json")
path.write_text("{\n" + lines + ',\n "cases": {\n' + cases + "\n }\n}\n")
