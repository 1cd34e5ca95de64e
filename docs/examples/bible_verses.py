#!/usr/bin/env python3
"""Writes the verses of the King James Bible as JSON lines, a document a verse, a file for each book.
The text is that of Debian's package bible-kjv.

    bible gen1:1-rev22:21 > kjv.txt
    python3 docs/examples/bible_verses.py kjv.txt verses
    trainer --config configs/llama_verses.yaml
"""
import json
import pathlib
import re
import sys

HEADING = re.compile(r"(\S.*) (\d+)$")  # "1 Samuel 3"
VERSE = re.compile(r"  (\d+) (.*)$")    # "  4 And ...", whose next lines are not indented


def verses(lines):
    """Yields [book, chapter, verse, text]."""
    book, chapter, current, heading = "", 0, None, False
    for line in lines:
        line = line.rstrip("\n")
        found = VERSE.match(line)
        title = HEADING.match(line) if heading else None
        heading = not line  # a heading has empty lines about it
        if title:
            book, chapter = title[1], int(title[2])
        elif found:
            if current:
                yield current
            current = [book, chapter, int(found[1]), found[2]]
        elif line:
            current[3] += " " + line
    yield current


def main():
    folder = pathlib.Path(sys.argv[2])
    folder.mkdir(exist_ok=True)
    books = {}
    with open(sys.argv[1]) as file:
        for book, chapter, verse, text in verses(file):
            books.setdefault(book, []).append({"verse": f"{book} {chapter}:{verse}", "text": text})
    for number, (book, lines) in enumerate(books.items(), 1):
        with open(folder / f"{number:02} {book}.jsonl", "w") as file:
            file.writelines(json.dumps(line) + "\n" for line in lines)


if __name__ == "__main__":
    main()
