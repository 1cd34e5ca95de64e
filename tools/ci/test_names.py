#!/usr/bin/env python3
"""Writes the names of all tests of a build, or compares two such lists.

Usage: test_names.py list BUILD > FILE        one line a test: "PROGRAM SUITE.TEST", or the name of a CTest case
       test_names.py compare BEFORE AFTER     exit code 1 where tests are missing

A CTest case runs the tests of a GoogleTest program that its filter names; each of these is listed.
"""
import json
import os
import re
import subprocess
import sys


def rows_of(program):
    """All tests of a program, as gtest_list_tests prints them."""
    rows, suite = [], ""
    text = subprocess.check_output([program, "--gtest_list_tests"], text=True)
    for line in text.splitlines():
        line = line.split("  #")[0].rstrip()
        if line.startswith("  "):
            rows.append(suite + line.strip())
        elif line.endswith("."):
            suite = line
    return rows


def matcher(patterns):
    """One side of GoogleTest's filter: patterns with * and ?, joined by colons."""
    glob = {"*": ".*", "?": "."}
    parts = ["".join(glob.get(c, re.escape(c)) for c in p) for p in patterns.split(":") if p]
    return re.compile("|".join(parts) or "(?!)").fullmatch


def names_of(build):
    text = subprocess.check_output(["ctest", "--test-dir", build, "--show-only=json-v1"], text=True)
    known = {}
    for case in json.loads(text)["tests"]:
        command = case.get("command", [case["name"]])
        name = os.path.basename(command[0])
        filters = [w.split("=", 1)[1] for w in command if w.startswith("--gtest_filter=")]
        if not filters:
            yield case["name"]
        elif not re.search(r"[*?]", filters[0]):
            yield f"{name} {filters[0]}"
        else:
            if command[0] not in known:
                known[command[0]] = rows_of(command[0])
            plus, _, minus = filters[0].partition("-")
            wanted, unwanted = matcher(plus or "*"), matcher(minus)
            yield from (f"{name} {r}" for r in known[command[0]] if wanted(r) and not unwanted(r))


def compare(before, after):
    before, after = ({line.rstrip("\n") for line in open(f, encoding="utf-8")} for f in (before, after))
    for what, names in (("missing", before - after), ("added", after - before)):
        print(f"{len(names)} {what}")
        for name in sorted(names):
            print(f"  {name}")
    return 1 if before - after else 0


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[1] == "list":
        print("\n".join(sorted(names_of(sys.argv[2]))))
    elif len(sys.argv) == 4 and sys.argv[1] == "compare":
        sys.exit(compare(*sys.argv[2:]))
    else:
        sys.exit(__doc__)
