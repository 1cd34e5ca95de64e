#!/usr/bin/env python3
"""Finds headers of the engine that the program `trainer` includes beside the public ones (docs/library.md)."""
import pathlib
import re
import sys

# Programs of their own: the check of HDF5 files, which the library starts, and what measures the engine from inside.
OTHERS = ("tools/hdf5_check.cpp", "tools/bench/")
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.M)

problems = []
for file in sorted(pathlib.Path("tools").rglob("*")):
    if file.suffix not in (".h", ".cpp") or str(file).startswith(OTHERS):
        continue
    problems += [f"{file}: includes {header}; trainer uses the public headers (CONTRIBUTING.md)"
                 for header in INCLUDE.findall(file.read_text(encoding="utf-8"))
                 if header.startswith(("engine/", "kernels/", "models/"))]
for file in sorted(pathlib.Path("engine/api").rglob("*.h")):
    problems += [f"{file}: is public, and includes {header}, which is not"
                 for header in INCLUDE.findall(file.read_text(encoding="utf-8"))]
print("\n".join(problems), end="\n" if problems else "")
sys.exit(1 if problems else 0)
