#!/usr/bin/env python3
"""Prints a public header as Doxygen reads it: reference_filter.py HEADER

The headers have plain comments. A comment above a declaration becomes one of Doxygen's, the first of the file describes
the file, and a comment behind a member describes that member. Tables stay as they are written. A word like train() is
a reference, which Doxygen must be able to resolve.
"""
import re
import sys

COMMENT = re.compile(r"^(\s*)//(?: (.*))?$")
TRAILING = re.compile(r"^(\s*\S.*?[;,(])\s*// (.*)$")
TABLE = re.compile(r"\S {3,}\S|^ {3,}")
CONTINUED = 24  # a comment that stands alone, and as far to the right, goes on from the line above


def marked_up(text, scope=""):
    text = re.sub(r'([\\@<>#%&$])', r"\\\1", text)
    return re.sub(r"(?<![\w:.#])((?:\w+::)*[a-z]\w*\(\))", rf"#{scope}\1", text)


def block(indent, lines, scope):
    """The lines of a comment, with tables as they are."""
    table = False
    for line in lines + [""]:
        if bool(TABLE.search(line)) != table:
            table = not table
            yield indent + ("/// \\verbatim" if table else "/// \\endverbatim")
        yield f"{indent}/// {line if table else marked_up(line, scope)}"


def filtered(lines):
    comment, indent, first, trailing = [], "", True, False
    for line in lines + ["\n"]:
        line = line.rstrip("\n")
        alone = COMMENT.match(line)
        if alone and not (trailing and len(alone[1]) >= CONTINUED):
            indent = alone[1]
            comment.append(alone[2] or "")
            trailing = False
            continue
        if comment:
            # What is followed by an empty line describes no declaration.
            if first:
                yield "/// \\file"
            if first or line.strip():
                yield from block(indent, comment, "spire::" if first else "")
            comment, first = [], False
            if line == "#pragma once":
                yield ""
        behind = TRAILING.match(line)
        if alone:
            yield f"{alone[1]}///< {marked_up(alone[2] or '')}"
        elif behind:
            yield f"{behind[1]}  ///< {marked_up(behind[2])}"
        else:
            yield line
        trailing = bool(behind or alone)


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as header:
        print("\n".join(filtered(header.readlines())))
