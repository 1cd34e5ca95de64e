#!/usr/bin/env python3
"""Finds public headers (engine/api) that include headers which are not installed."""
import pathlib
import re
import sys

INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.M)

problems = [f"{file}: is public, and includes {header}, which is not"
            for file in sorted(pathlib.Path("engine/api").rglob("*.h"))
            for header in INCLUDE.findall(file.read_text(encoding="utf-8"))]
print("\n".join(problems), end="\n" if problems else "")
sys.exit(1 if problems else 0)
