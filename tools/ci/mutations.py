#!/usr/bin/env python3
"""Makes small faults in the product, one at a time, and says whether a test finds each.

Usage: tools/ci/mutations.py [--count N] [--seed S] [--build FOLDER] [--only ROOM] [--list]

Every room but python/core, whose tests need a wheel, gets a fault, the others fall by lines of code; count and seed
alone decide which. A fault is built and tested as `tools/test.sh --changed` does, in a clean checkout whose FOLDER
(default: build/release) is built. Prints a line for each: found by a test (or by its time limit), survived, or
refused by the compiler, after which the room gets another one. Ctrl-C leaves the checkout as it was. Exit code 1: a
fault survived.
"""
import argparse
import collections
import random
import re
import subprocess
import sys

SWAPS = [(" < ", " <= "), (" <= ", " < "), (" > ", " >= "), (" >= ", " > "), (" == ", " != "), (" != ", " == "), (" && ", " || "),
         (" || ", " && "), (" + ", " - "), (" - ", " + "), (" * ", " + "), (" / ", " * "), ("true", "false"), ("false", "true"),
         ("std::min", "std::max"), ("std::max", "std::min"), (" += ", " = "), ("return {};", "break;"), ("if (!", "if ("), ("if (", "if (!")]
CALL = re.compile(r"^ +[\w.>-]+\((?!.*\b(?:static_assert|fail)\b).*\);$")
NUMBER = re.compile(r"(?<![\w.<\"'-])(\d+)(?![\w.>\"'])")
SKIPPED = re.compile(r'^\s*(//|#|\*|static_assert|template|using|case |enum|struct|class|namespace)|"|operator')
LIMIT = 600  # seconds of one test


def room_of(path):
    parts = path.split("/")
    return "/".join(parts[:2]) if len(parts) > 2 else parts[0]


def faults_of(line):
    """The ways to spoil a line of code."""
    if SKIPPED.search(line):
        return []
    code = line.split("//")[0]
    ways = [line[:m.start()] + new + line[m.end():] for old, new in SWAPS for m in re.finditer(re.escape(old), code)]
    ways += [line[:m.start()] + str(int(m[1]) + 1) + line[m.end():] for m in NUMBER.finditer(code)]
    return ways + ([""] if CALL.match(code) else [])


def candidates(only):
    listing = subprocess.check_output(["git", "ls-files", "engine", "kernels", "models", "tools"], text=True).split()
    rooms = collections.defaultdict(list)
    for path in listing:
        if not re.search(r"\.(cpp|cu)$|^kernels/ops/.*\.h$", path) or not room_of(path).startswith(only):
            continue
        rooms[room_of(path)] += [(path, number, way) for number, line in enumerate(open(path, encoding="utf-8").read().split("\n"))
                                 for way in faults_of(line)]
    return {room: places for room, places in sorted(rooms.items()) if places}


def run(command):
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.returncode, done.stdout


def verdict(build):
    chosen = subprocess.run([sys.executable, "tools/ci/changed_tests.py", "HEAD", build], text=True, stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL, check=True).stdout.split("\n")
    if not chosen[0]:
        return "survived"  # no test is chosen
    targets = [] if chosen[0] == "all" else ["--target", *chosen[0].split()]
    if run(["cmake", "--build", build, "--parallel", *targets])[0]:
        return "refused by the compiler"
    cases = [] if chosen[0] == "all" else ["-R", chosen[1]]
    code, out = run(["ctest", "--test-dir", build, "--timeout", str(LIMIT), "--stop-on-failure", "--output-on-failure", "--parallel", "2",
                     *cases])
    if code == 0:
        return "survived"
    inside = re.search(r"^\[  FAILED  \] ([\w./]+)", out, re.M)
    case = re.search(r"\d+ - (\S+) \(", out[out.find("The following tests FAILED"):])
    return "found by " + (inside[1] if inside else case[1] if case else "ctest")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--only", default="", metavar="ROOM")
    parser.add_argument("--list", action="store_true", help="prints the faults and makes none")
    options = parser.parse_args()
    if not options.list and run(["git", "diff", "--quiet", "HEAD"])[0]:
        sys.exit("mutations: commit or stash your changes first: faults are made in this checkout")
    draw, rooms = random.Random(options.seed), candidates(options.only)
    chosen = (list(rooms) + draw.choices(list(rooms), [len(p) for p in rooms.values()], k=options.count))[:options.count]
    found = collections.Counter()
    for room in chosen:
        result = "refused by the compiler"
        while result == "refused by the compiler":
            path, number, way = draw.choice(rooms[room])
            before = open(path, encoding="utf-8").read()
            lines = before.split("\n")
            print(f"{path}:{number + 1}: {lines[number].strip()}  =>  {way.strip() or '(removed)'}", flush=True)
            if options.list:
                break
            lines[number] = way
            try:
                open(path, "w", encoding="utf-8").write("\n".join(lines))
                result = verdict(options.build)
            finally:
                open(path, "w", encoding="utf-8").write(before)
            print("  " + result, flush=True)
        found[result.split(" by")[0]] += 1
    print(", ".join(f"{count} {name}" for name, count in found.items()))
    sys.exit(1 if found["survived"] else 0)


if __name__ == "__main__":
    main()
