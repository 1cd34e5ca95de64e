#!/usr/bin/env python3
"""Prints where the time of a build and of its tests went, as a Markdown table.

Usage: times.py BUILD

Steps are those of .ci/run (BUILD/steps.txt), compile times are in Ninja's log, times of tests in the files that
tools/test.sh lets CTest write (BUILD/tests_*.xml). Compiling and testing count the time of all jobs.
"""
import collections
import glob
import os
import re
import sys
import xml.etree.ElementTree


def kind_of(output):
    if not output.endswith((".o", ".gch")):
        return "links, and what is made besides"
    if output.endswith(".gch"):
        return "precompiled headers"
    if "/lint_headers" in output:
        return "headers alone"
    if output.startswith("tests/emulation/"):
        return "the emulation"
    if output.startswith("tests/"):
        return "tests"
    return "CUDA" if output.endswith(".cu.o") else "the engine's C++"


def compiled(build):
    """Seconds by kind: an edge has a line for each of its outputs, the last build of each counts."""
    edges = {}
    with open(os.path.join(build, ".ninja_log"), encoding="utf-8") as log:
        for line in list(log)[1:]:
            begin, end, _, output, command = line.rstrip("\n").split("\t")
            edges[command] = (kind_of(output), (int(end) - int(begin)) / 1000)
    return group((kind, seconds) for kind, seconds in edges.values())


def tested(build):
    """Seconds by test program, or by the first part of a case's name."""
    cases = []
    for path in glob.glob(os.path.join(build, "tests_*.xml")):
        for case in xml.etree.ElementTree.parse(path).getroot().iter("testcase"):
            cases.append((re.split(r"[./]", case.get("name"))[0], float(case.get("time") or 0)))
    return group(cases)


def group(pairs):
    sums = collections.defaultdict(lambda: [0, 0.0])
    for name, seconds in pairs:
        sums[name][0] += 1
        sums[name][1] += seconds
    return sorted(((n, c, s) for n, (c, s) in sums.items()), key=lambda row: -row[2])


def row(name, count, seconds):
    print(f"| {name} | {count} | {seconds:.0f} |")


def main(build):
    print("| | number | seconds |\n|---|---|---|")
    with open(os.path.join(build, "steps.txt"), encoding="utf-8") as steps:
        for line in steps:
            seconds, name = line.rstrip("\n").split("\t")
            row(f"**{name}**", "", float(seconds))
    for name, count, seconds in compiled(build):
        row(f"compile: {name}", count, seconds)
    rows = tested(build)
    for name, count, seconds in rows[:12]:
        row(f"test: {name}", count, seconds)
    row("test: all others", sum(r[1] for r in rows[12:]), sum(r[2] for r in rows[12:]))


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    main(sys.argv[1])
