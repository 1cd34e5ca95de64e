#!/usr/bin/env python3
"""Applies the worked examples of CONTRIBUTING.md to copies of the files that they name."""
import argparse
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
GUIDE = "CONTRIBUTING.md"
# "### Example: a dataset", then for each file its path in a line, and a block.
EXAMPLE = re.compile(r"^### Example: an? (.+)$")
BLOCK = re.compile(r"^`([^`]+)`\n\n```(\w+)\n(.*?)^```$", re.M | re.S)


def examples():
    """Yields (example, path, language, text) for each block."""
    guide = (ROOT / GUIDE).read_text(encoding="utf-8")
    for section in re.split(r"(?m)^(?=### Example: )", guide)[1:]:
        name = EXAMPLE.match(section.splitlines()[0]).group(1)
        for path, language, text in BLOCK.findall(section):
            yield name, path, language, text


def patched(source, diff, where):
    """Returns the text with the hunks applied, which have no line numbers: each fits in one place."""
    for hunk in re.split(r"(?m)^@@\n", diff):
        lines = [" \n" if line == "\n" else line for line in hunk.splitlines(keepends=True)]
        before = "".join(line[1:] for line in lines if line[0] in " -")
        after = "".join(line[1:] for line in lines if line[0] in " +")
        found = source.count(before)
        if found != 1:
            sys.exit(f"{GUIDE}: {where}: {found} places fit these lines, not one; make the example fit the file:\n{before}")
        source = source.replace(before, after)
    return source


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", metavar="FOLDER", required=True, help="where the files go: a work tree, or any folder")
    parser.add_argument("example", nargs="?", help="one of them: 'config key', optimizer, dataset, op; default: all")
    arguments = parser.parse_args()
    texts = {}
    for name, path, language, text in examples():
        if arguments.example not in (None, name):
            continue
        if language == "diff":
            text = patched(texts.get(path) or (ROOT / path).read_text(encoding="utf-8"), text, f"example of {name}: {path}")
        texts[path] = text
    if not texts:
        sys.exit(f"{GUIDE} has no example of {arguments.example}")
    for path, text in texts.items():
        target = pathlib.Path(arguments.write) / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.exists() or target.read_text(encoding="utf-8") != text:  # an equal file keeps its time: nothing is built again
            target.write_text(text, encoding="utf-8")
        print(path)


main()
