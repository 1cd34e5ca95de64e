#!/usr/bin/env python3
"""Names the tests that a change concerns, for tools/test.sh --changed.

Usage: changed_tests.py BASE BUILD

Prints two lines: targets to build, and a regular expression of CTest cases; empty lines where no test is concerned,
"all" where every one may be. Standard error says why, a line for each changed file. BASE is a commit; files that git
does not know yet count as changed.
"""
import functools
import json
import os
import re
import subprocess
import sys

DOCUMENTS = re.compile(r"docs/(?!examples/).*|.*\.md|\.clang-.*|\.git.*|tools/lint.*|\.ci/.*|packaging/.*|third_party/licences/.*")
CONCERNS_ALL = re.compile(r"(tests/)?CMakeLists\.txt|CMakePresets\.json|cmake/.*|third_party/.*|engine/api/.*|engine/base/.*\.h")


def read(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def git(*words):
    return subprocess.run(["git", *words], text=True, stdout=subprocess.PIPE).stdout.split("\n")[:-1]


def programs():
    """Program -> (folder of its CMakeLists.txt, its words, with those of the objects that it links)."""
    calls, objects = {}, {}
    for path in git("ls-files", "tests/*CMakeLists.txt"):
        folder = os.path.dirname(path)
        text = re.sub(r"#.*", "", read(path))
        for kind, name, words in re.findall(r"\b(spire_test_objects|spire_test|spire_fuzzer|add_executable)\((\w+)\s([^)]*)\)", text):
            name = f"fuzz_{name}_test" if kind == "spire_fuzzer" else name
            (objects if kind == "spire_test_objects" else calls)[name] = (folder, words)
    for name, (folder, words) in calls.items():
        paths = {os.path.normpath(os.path.join(folder, w)) for w in re.findall(r"[\w./-]+\.cpp", words)}
        for linked in objects:
            if re.search(rf"(TARGET_OBJECTS:|\s){linked}\b", words):
                there, inside = objects[linked]
                paths |= {os.path.normpath(os.path.join(there, w)) for w in re.findall(r"[\w./-]+\.cpp", inside)}
        yield name, folder, paths


def suites_of(path):
    return sorted(set(re.findall(r"^\s*(?:TYPED_)?TEST(?:_[FP])?\((\w+),", read(path), re.M))) if os.path.exists(path) else []


class Choice:
    def __init__(self, build):
        self.build, self.programs = build, list(programs())
        self.targets, self.cases, self.all = set(), set(), False
        self.registered = read(build + "/tests/suites.cmake")

    def take(self, program, suites=()):
        self.targets.add(program)
        if f"({program} " not in self.registered:  # a part of other cases
            return ", ".join(self.of_script(program))
        some = "(" + "|".join(suites) + ")" if suites else ""
        self.cases.add(rf"^{program}\.(.*/)?{some}(\.|$)" if suites else rf"^{program}\.")
        return program + (": " + ", ".join(suites) if suites else "")

    def of_source(self, path):
        """Suites of a file in tests/, in each program that has it; or the programs of its folder."""
        users = [self.take(name, suites_of(path)) for name, _, paths in self.programs if path in paths]
        return users or self.of_folder(os.path.dirname(path))

    def of_header(self, path, seen):
        """Tests of the files in tests/ that include a header."""
        names = []
        for user in set(git("grep", "-l", f'#include ["<]{path}[">]', "--", "tests")) - seen:
            seen.add(user)
            names += self.of_header(user, seen) if user.endswith(".h") else self.of_source(user)
        return names

    def of_folder(self, folder):
        """All programs with a file of a folder in tests/."""
        names = [n for n, there, paths in self.programs
                 if there == folder or (not os.path.exists(folder + "/CMakeLists.txt") and any(p.startswith(folder + "/") for p in paths))]
        return [self.take(n) for n in names if n.endswith("_test") and (n != "emulation_test" or folder == "tests/emulation")]

    @functools.cached_property
    def ctest_cases(self):
        text = subprocess.check_output(["ctest", "--test-dir", self.build, "--show-only=json-v1"], text=True)
        return json.loads(text)["tests"]

    def of_script(self, path):
        """CTest cases whose command names the file, and the programs that they start."""
        found = []
        for case in self.ctest_cases:
            words = case.get("command", [])
            if any(w.endswith("/" + path) for w in words):
                found.append(case["name"])
                self.cases.add(f"^{re.escape(case['name'])}$")
                inside = os.path.realpath(self.build) + "/"
                self.targets |= {os.path.basename(w) for w in words if w.startswith(inside) and os.access(w, os.X_OK) and os.path.isfile(w)}
        return found

    def of_op(self, path):
        op = path.split("/")[2]
        tests = git("ls-files", f"tests/kernels/ops/{op}*_test.cpp")
        tests = tests or [p for p in git("ls-files", "tests/kernels/ops/*.cpp") if f'"kernels/ops/{op}/' in read(p)]
        suites = sorted({s for p in tests for s in suites_of(p)})
        words = [self.take("kernels_test", suites)]
        if not path.endswith("_cpu.cpp"):
            words.append(self.take("emulation_test", suites))
        return words

    def of(self, path):
        parts = path.split("/")
        if CONCERNS_ALL.fullmatch(path):
            self.all = True
            return ["every test"]
        if path == "CONTRIBUTING.md":
            return [self.take("contributing_test")]
        if DOCUMENTS.fullmatch(path):
            return []
        if path.startswith("tests/cases/") and len(parts) > 3:
            return self.of_script("/".join(parts[:3]))  # a case's command names its folder
        if path.startswith("kernels/ops/"):
            return self.of_op(path)
        if parts[0] == "kernels":
            return [self.take("kernels_test")] + ([self.take("emulation_test")] if "cuda" in path or path.endswith(".h") else [])
        if path.startswith("engine/observe/page/") and not path.endswith((".cpp", ".h")):
            return [self.take(program) for program in ("observe_test", "run_page_test", "bench_test")]
        if parts[0] == "engine":
            named = f"tests/{'/'.join(parts[1:-1])}/{parts[-1].rsplit('.', 1)[0]}_test.cpp"
            if path.endswith(".cpp") and os.path.exists(named):
                return self.of_source(named)
            # Runs of the program are tested beside the functions that they call.
            return self.of_folder("tests/" + parts[1]) + (self.of_folder("tests/run/program") if parts[1] == "run" else [])
        if parts[0] == "tools" and os.path.isdir("tests/tools/" + parts[1]) and path.endswith((".cpp", ".h")):
            own = [name for name, _, _ in self.programs if name == parts[1] + "_test"]  # sweep_test runs processes
            return sorted(set(self.of_folder("tests/tools/" + parts[1]) + [self.take(name) for name in own]))
        if parts[0] in ("models", "tools") and path.endswith((".cpp", ".h", "CMakeLists.txt")):
            return self.of_folder("tests/" + parts[0])
        if parts[0] == "configs":
            return self.of_folder("tests/config")
        if path.endswith("CMakeLists.txt"):
            return self.of_folder(os.path.dirname(path))
        if path.endswith((".cpp", ".h")):
            return self.of_source(path) if path.endswith(".cpp") else sorted(set(self.of_header(path, {path})))
        return self.of_script(path)


def main(base, build):
    choice = Choice(build)
    for path in sorted(set(git("diff", "--name-only", base) + git("ls-files", "--others", "--exclude-standard"))):
        names = choice.of(path)
        print(f"  {path}: {', '.join(names) or 'no test'}", file=sys.stderr)
    print("all" if choice.all else " ".join(sorted(choice.targets)))
    print("all" if choice.all else "|".join(sorted(choice.cases)))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
