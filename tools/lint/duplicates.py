#!/usr/bin/env python3
"""Lists places where two files share six or more equal lines. Fails above the number given as the argument.

Lines are compared without their indentation. Blank lines, includes, comments and lines of braces alone do not count and
do not interrupt a run of equal lines.
"""
import collections
import os
import re
import subprocess
import sys

WINDOW = 6
allowed = int(sys.argv[1])
listing = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "engine", "kernels", "models", "tools", "tests"]
files = [f for f in subprocess.check_output(listing, text=True).split()
         if f.endswith((".h", ".cpp", ".cu")) and os.path.exists(f)]
trivial = re.compile(r"^(|//.*|#.*|using .*|namespace .*|[{}()\[\];,\s]*|public:|private:|break;|return;|else \{)$")


def lines_of(file):
    with open(file, errors="replace") as source:
        numbered = ((number, line.strip()) for number, line in enumerate(source, 1))
        return [(number, line) for number, line in numbered if not trivial.match(line)]


lines = {file: lines_of(file) for file in files}
windows = collections.defaultdict(list)
for file in files:
    texts = [line for _, line in lines[file]]
    for i in range(len(texts) - WINDOW + 1):
        windows[tuple(texts[i:i + WINDOW])].append((file, i))

# Overlapping windows of one pair of files are one duplicate: they lie on one diagonal.
runs = collections.defaultdict(set)
for places in windows.values():
    for a, (first, i) in enumerate(places):
        for second, j in places[a + 1:]:
            if first != second:
                runs[first, second, j - i].add(i)
found = []
for (first, second, shift), starts in sorted(runs.items()):
    for i in sorted(starts):
        if i - 1 not in starts:
            end = i
            while end + 1 in starts:
                end += 1
            found.append((end - i + WINDOW, first, lines[first][i][0], second, lines[second][i + shift][0]))

if len(found) > allowed:
    for count, first, line, second, other in sorted(found, reverse=True):
        print(f"{first}:{line} and {second}:{other}: {count} equal lines")
print(f"lint: duplicates of {WINDOW} or more lines: {len(found)} (at most {allowed})")
sys.exit(1 if len(found) > allowed else 0)
