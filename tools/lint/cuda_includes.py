#!/usr/bin/env python3
"""Finds CUDA files that reach a header which takes nvcc long: it parses a header four times (CONTRIBUTING.md)."""
import pathlib
import re
import sys

# With <memory>, <string> and <vector>, which ops need, a file takes 2.5 s; fmt adds 2 s, each of the others up to 1 s.
HEAVY = re.compile(r"(fmt|nlohmann)/.*|algorithm|filesystem|functional|iostream|map|ranges|regex|sstream|unordered_map")
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^">]+)[">]', re.M)
ROOTS = (pathlib.Path("."), pathlib.Path("engine/api"))


def file_of(header):
    return next((root / header for root in ROOTS if (root / header).is_file()), None)


def heavy_ones(file, seen):
    """The paths from the file to heavy headers, as lists."""
    for header in INCLUDE.findall(file.read_text(encoding="utf-8")):
        if HEAVY.fullmatch(header):
            yield [header]
        own = file_of(header)
        if own and own not in seen:
            seen.add(own)
            yield from ([header] + rest for rest in heavy_ones(own, seen))


problems = [f"{file}: includes {', which includes '.join(path)}, which takes long to compile"
            for folder in ("engine", "kernels") for file in sorted(pathlib.Path(folder).rglob("*.cu"))
            for path in heavy_ones(file, set())]
print("\n".join(problems), end="\n" if problems else "")
sys.exit(1 if problems else 0)
