#!/usr/bin/env python3
"""Checks, or with --wrap makes, Markdown lines of at most 120 columns.

Code blocks and tables keep their lines: both change their meaning when they are broken. So does a line that is one long
word, such as a link.
"""
import os
import re
import subprocess
import sys
import textwrap

WIDTH = 120


def is_free(line):
    return line.lstrip().startswith("|") or " " not in line.strip()


def paragraphs(text):
    """Yields (kind, lines): `keep` for lines as they are, `prose` for lines that may be wrapped together."""
    prose, fenced = [], False
    for line in text.split("\n"):
        fence = line.lstrip().startswith("```")
        heading = re.match(r"#{1,6} |\s*$|<|\[[^\]]+\]:|---", line)
        if fenced or fence or is_free(line) or heading:
            if prose:
                yield "prose", prose
                prose = []
            yield "keep", [line]
            fenced = fenced != fence
            continue
        if prose and re.match(r"\s*([-*] |\d+\. )", line):
            yield "prose", prose
            prose = []
        prose.append(line)
    if prose:
        yield "prose", prose


def wrap(lines):
    first = re.match(r"\s*(?:[-*] |\d+\. )?", lines[0]).group(0)
    rest = " " * len(first)
    text = " ".join(line.strip() for line in lines)[len(first.strip()):].strip()
    # Code spans and links keep their blanks, so that no line breaks inside of them.
    text = re.sub(r"`[^`]*`|\]\([^)]*\)", lambda m: m.group(0).replace(" ", "\0"), text)
    wrapped = textwrap.fill(text, WIDTH, initial_indent=first, subsequent_indent=rest, break_long_words=False,
                            break_on_hyphens=False)
    return wrapped.replace("\0", " ").split("\n")


def pages():
    listing = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"]
    return [f for f in subprocess.check_output(listing, text=True).split() if os.path.exists(f)]


failed = False
for page in [a for a in sys.argv[1:] if not a.startswith("--")] or pages():
    with open(page, encoding="utf-8") as file:
        text = file.read()
    if "--wrap" in sys.argv:
        lines = [line for kind, part in paragraphs(text) for line in (wrap(part) if kind == "prose" else part)]
        with open(page, "w", encoding="utf-8") as file:
            file.write("\n".join(lines))
        continue
    number = 0
    for kind, part in paragraphs(text):
        for line in part:
            number += 1
            if kind == "prose" and len(line) > WIDTH:
                failed = True
                print(f"{page}:{number}: {len(line)} columns; at most {WIDTH} (tools/lint/markdown.py --wrap {page})")
sys.exit(1 if failed else 0)
