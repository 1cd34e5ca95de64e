#!/usr/bin/env python3
"""`trainer` of the server tests: the emulated one, with words behind the page's own that make models and runs tiny."""
import os
import socket
import sys

SHORT = ["steps=4", "schedule.warmup_epochs=0", "schedule.warmup_steps=0", "eval.every_epochs=0", "log.every_seconds=1000"]
FASHION = ["data.path=small_fashion", "batch_size=2", "data.workers=1"]


def small_model(text):
    if "mlp" in text:
        return ["model.hidden=[8]"]
    return ["model.channels=[4,4]", "model.hidden=[8]"] if "fashion_mnist_cnn" in text else []


def words_for(arguments):
    """More words for a command that trains or plans; a check of a shipped config stays as it is."""
    first = arguments[0]
    command = "train" if first.startswith("-") or "=" in first else first
    text = " ".join(arguments)
    if "--check" in arguments or command not in ("train", "sweep", "lr-find", "plan") or "--gpu" in arguments:
        return []
    words = ["--steps", "12"] if command == "lr-find" else []
    if "configs/fashion_mnist" in text:
        words += FASHION + small_model(text)
    if command in ("train", "sweep") and "--dry-run" not in arguments:
        words += SHORT + output_words(arguments, command)
    return words


def output_words(arguments, command):
    """Each command finds a folder of its own, or takes that of the command before."""
    if "--resume" in arguments or "-o" in arguments and command == "sweep":
        return []
    if command == "sweep":
        return ["-o", f"runs/sweep_{os.getpid()}"]
    other = any(word.startswith("towers=") for word in arguments)
    return ["--overwrite"] + (["-o", "runs/other_towers"] if other else [])


def replaced(arguments):
    """Fewer tokens; and another port, as the pages' may be another program's."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    before = dict(zip(arguments[1:], arguments))
    return [port if word == "8080" else "12" if before.get(word) == "--tokens" else word for word in arguments]


trainer = os.environ["EMULATED_TRAINER"]
os.execv(trainer, [trainer, *replaced(sys.argv[1:]), *words_for(sys.argv[1:])])
