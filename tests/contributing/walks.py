#!/usr/bin/env python3
"""Follows the walks of docs/architecture.md: to each file leads an include, a call or a name of the walk, from or to one before it."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
GUIDE = "docs/architecture.md"
MOST = {"A batch": 10, "A gradient": 8, "A config key": 4}  # files
WALK = re.compile(r"^\*\*(%s)[^*]*\*\*.*?\n((?:\s*\n)?(?:\d+\. .*\n(?: {2,}.*\n)*)+)" % "|".join(MOST), re.M)
STEP = re.compile(r"^\d+\. `([^`]+)`(.*\n(?: {2,}.*\n)*)", re.M)  # the file, and what is said of it
NAME = re.compile(r"`([\w:]+)`")
INCLUDE = re.compile(r'^#include ["<]([^">]+)[">]', re.M)
FUNCTION = re.compile(r"^(?:[\w:<>,&*]+ )+[&*]?(\w{5,})\(", re.M)  # a definition begins a line


def text_of(path):
    """Of the file and, if it is a .cpp, of the header of its name."""
    files = [path.with_suffix(".h"), path] if path.suffix == ".cpp" else [path]
    return "".join(each.read_text(encoding="utf-8") for each in files if each.exists())


def calls(start, end):
    """Whether `start` includes the header of `end`, or calls a function that `end` defines."""
    header = str(end.with_suffix(".h").relative_to(ROOT)).removeprefix("engine/api/")
    called = re.findall(r"(?<![\w:.>])(\w{5,})\(", text_of(start))
    return header in INCLUDE.findall(text_of(start)) or not set(FUNCTION.findall(text_of(end))).isdisjoint(called)


def names_in(said):
    """Identifiers in backticks: of an interface through which one file calls the other, or a member of both."""
    return {part for name in NAME.findall(said) for part in name.split("::")}


def leads(one, other, said):
    shared = set(re.findall(r"\w+", text_of(one))) & set(re.findall(r"\w+", text_of(other)))
    return calls(one, other) or calls(other, one) or not shared.isdisjoint(names_in(said))


def problems():
    walks = dict(WALK.findall((ROOT / GUIDE).read_text(encoding="utf-8")))
    for name, most in MOST.items():
        steps = [(ROOT / file, said) for file, said in STEP.findall(walks.get(name, ""))]
        if not 1 < len(steps) <= most:
            yield f"{name}: {len(steps)} files, not 2 to {most}"
        for i, (file, said) in enumerate(steps):
            if not file.exists():
                yield f"{name}: there is no {file.relative_to(ROOT)}"
            elif i > 0 and not any(leads(other, file, said) for other, _ in steps[:i] if other.exists()):
                yield f"{name}: nothing leads from the files before it to {file.relative_to(ROOT)}"


def main():
    found = list(problems())
    for problem in found:
        print(f"{GUIDE}: {problem}", file=sys.stderr)
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
