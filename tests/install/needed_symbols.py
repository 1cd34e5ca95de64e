#!/usr/bin/env python3
"""Checks that object files need no symbol of Spire that its shared library hides.

Usage: needed_symbols.py LIBRARY OBJECT...

What an object leaves undefined in namespace spire, the library exports, or it belongs to spire::tool.
"""
import re
import subprocess
import sys


def symbols(*command):
    """The names as people write them, by the names as the compiler does."""
    listed = subprocess.run(["nm", *command], check=True, capture_output=True, text=True).stdout
    names = sorted({line.split()[-1].split("@")[0] for line in listed.splitlines() if line and not line.endswith(":")})
    plain = subprocess.run(["c++filt"], input="\n".join(names), check=True, capture_output=True, text=True).stdout
    return dict(zip(names, plain.splitlines()))


def main():
    library, objects = sys.argv[1], sys.argv[2:]
    exported = symbols("-D", "--defined-only", library)
    defined = symbols("--defined-only", *objects)
    needed = symbols("--undefined-only", *objects)
    ours = {symbol: name for symbol, name in needed.items()
            if re.search(r"\bspire::(?!tool::)", name) and not re.match(r"(\w+ for )?spire::tool::", name)}
    hidden = [name for symbol, name in ours.items() if symbol not in exported and symbol not in defined]
    print("\n".join(f"{name} is hidden" for name in hidden) or f"{len(ours)} names are exported")
    sys.exit(bool(hidden) or not ours)


if __name__ == "__main__":
    main()
