#!/usr/bin/env python3
"""Measures the C++ and CUDA files against the house's numbers. Fails on the hard caps alone."""
import collections
import os
import re
import statistics
import subprocess
import sys

MAX_LINES, MAX_FILES, MAX_FUNCTION = 500, 45, 80
FOLDERS = ["engine", "kernels", "models", "tools", "tests"]
# Data that a script makes, in one table.
GENERATED = {"engine/data/text/unicode_classes.cpp"}

listing = ["git", "ls-files", "--cached", "--others", "--exclude-standard"] + FOLDERS
files = [f for f in subprocess.check_output(listing, text=True).split()
         if f.endswith((".h", ".cpp", ".cu")) and f not in GENERATED and os.path.exists(f)]
product = [f for f in files if not f.startswith("tests/")]
problems = []

lines = {f: sum(1 for _ in open(f, errors="replace")) for f in files}
for file, count in lines.items():
    if count > MAX_LINES:
        problems.append(f"{file}: {count} lines; at most {MAX_LINES}")

by_folder = collections.Counter(os.path.dirname(f) for f in files)
for folder, count in by_folder.items():
    if count > MAX_FILES:
        problems.append(f"{folder}: {count} files; at most {MAX_FILES}")


def is_table(file, first, last):
    """A function of at most two statements that returns a table of test cases is data."""
    with open(file, errors="replace") as source:
        body = source.readlines()[first:last - 1]
    statements = [line for line in body if re.match(r"  (?!  )\S.*", line)]
    return sum(line.rstrip().endswith((";", "{")) for line in statements) <= 3


# Universal Ctags prints the last line of a function in the field `end`.
tags = subprocess.run(["ctags", "-f", "-", "--fields=+ne", "--c++-kinds=f", "--langmap=c++:+.cu", "-L", "-"],
                      input="\n".join(files), text=True, capture_output=True, check=True).stdout
functions = []
for tag in tags.splitlines():
    name, file, *fields = tag.split("\t")
    value = dict(f.split(":", 1) for f in fields if ":" in f)
    if "end" not in value:
        continue
    first, last = int(value["line"]), int(value["end"])
    length = last - first + 1
    functions.append(length)
    if length > MAX_FUNCTION and not is_table(file, first, last):
        problems.append(f"{file}:{value['line']}: {name} has {length} lines; at most {MAX_FUNCTION}")


if not functions:
    sys.exit("lint: ctags finds no function: its --version must say Universal Ctags")


def share(values, part):
    return sorted(values)[int(len(values) * part)]


sizes = [lines[f] for f in product]
folder, count = by_folder.most_common(1)[0]
print(f"lint: files: {len(product)} of the product, {len(files) - len(product)} of the tests; lines per file: median "
      f"{statistics.median(sizes):.0f} (target 80 to 160), p90 {share(sizes, 0.9)}, most {max(lines.values())}")
print(f"lint: largest folder: {folder}, {count} files; lines per function: p90 {share(functions, 0.9)} "
      f"(target 20), most {max(functions)}")
for problem in problems:
    print(problem)
sys.exit(1 if problems else 0)
