#!/usr/bin/env python3
"""Counts the house and compares it with tools/lint/budget.json, which only a commit that says why may raise.
--rooms prints the lines and files of each room instead."""
import collections
import glob
import json
import os
import re
import subprocess
import sys

PRODUCT = ("engine", "kernels", "models", "tools", "python")
SOURCES = (".h", ".cpp", ".cu", ".py", ".html", ".js", ".css")
# Data that a script makes, in one table.
GENERATED = {"engine/data/text/unicode_classes.cpp"}


def text(files):
    return "\n".join(open(f, errors="replace").read() for f in files)


def room_of(file):
    parts = file.split("/")
    return "/".join(parts[:2]) if len(parts) > 2 else parts[0]


def keys_without_example():
    """Keys of the config that neither a page names in full nor a config of configs/ sets."""
    keys = re.findall(r'\bKEY(?:_AT)?\("?([a-z0-9_.]+)', text(glob.glob("engine/config/schema_*.cpp")))
    pages = text(glob.glob("docs/*.md") + ["README.md"])
    configs = [text([f]) for f in glob.glob("configs/**/*.yaml", recursive=True)]

    def shown(key):
        if re.search(rf"(?<![\w.]){re.escape(key)}(?![\w])", pages):
            return True
        nested = re.compile(r".*?".join(rf"\b{re.escape(part)}:" for part in key.split(".")), re.DOTALL)
        return any(nested.search(config) for config in configs)

    return [key for key in keys if not shown(key)]


listing = ["git", "ls-files", "--cached", "--others", "--exclude-standard", *PRODUCT, "tests"]
files = [f for f in subprocess.check_output(listing, text=True).split()
         if f.endswith(SOURCES) and f not in GENERATED and os.path.exists(f)]
lines = {f: sum(1 for _ in open(f, errors="replace")) for f in files}
product = [f for f in files if not f.startswith("tests/")]
rooms, room_files = collections.Counter(), collections.Counter()
for f in files:
    rooms[room_of(f)] += lines[f]
    room_files[room_of(f)] += 1

if sys.argv[1:] == ["--rooms"]:
    for room, count in sorted(rooms.items(), key=lambda item: (item[0].startswith("tests"), -item[1])):
        print(f"{count:8} lines {room_files[room]:5} files  {room}")
    print(f"{sum(lines[f] for f in product):8} lines {len(product):5} files  the product")
    print(f"{sum(rooms.values()) - sum(lines[f] for f in product):8} lines {len(files) - len(product):5} files  the tests")
    sys.exit(0)

bare_keys = keys_without_example()
measured = {
    "product_lines": sum(lines[f] for f in product),
    "product_files": len(product),
    "test_lines": sum(rooms.values()) - sum(lines[f] for f in product),
    "engine_rooms": sum(os.path.isdir(f"engine/{room}") for room in os.listdir("engine")),
    "public_headers": sum(f.startswith("engine/api/spire/") and f.endswith(".h") for f in files),
    "config_keys_without_example": len(bare_keys),
}
budget = json.load(open("tools/lint/budget.json"))
problems = [f"{name} is {measured[name]}; the budget (tools/lint/budget.json) allows {most}: make room, or raise it in a "
            "commit that says why" for name, most in budget.items() if measured[name] > most]
if len(bare_keys) > budget["config_keys_without_example"]:
    problems.append("without an example in configs/ or docs/: " + ", ".join(bare_keys))
print("lint: budget: " + ", ".join(f"{name.replace('_', ' ')} {measured[name]} of {most}" for name, most in budget.items()))
print("\n".join(problems), end="\n" if problems else "")
sys.exit(1 if problems else 0)
