#!/usr/bin/env python3
"""Finds stale file lists and broken mentions of files.

Every C++ and CUDA source is named in a CMakeLists.txt, every header is included by somebody, and every file that a
CMakeLists.txt, an include line, a comment or a Markdown page names exists.
"""
import os
import posixpath
import re
import subprocess
import sys

FOLDERS = ("engine/", "kernels/", "models/", "tools/", "tests/")
# The consumer is a project of its own, whose include lines are those of an installed Spire.
FOREIGN = ("tests/install/consumer/", "tests/install/dependencies/")

tracked = subprocess.check_output(
    ["git", "ls-files", "--cached", "--others", "--exclude-standard"], text=True).split()
tracked = [f for f in tracked if os.path.exists(f)]
existing = set(tracked)
folders = {posixpath.dirname(f) for f in tracked}
folders |= {"/".join(d.split("/")[:i]) for d in folders for i in range(1, d.count("/") + 1)}
problems = []


def read(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def cmake_files(path):
    """Yields the files that one CMakeLists.txt names, as paths from the root."""
    folder = posixpath.dirname(path)
    text = re.sub(r"#.*", "", read(path))
    known = {"PROJECT_SOURCE_DIR": "", "CMAKE_CURRENT_SOURCE_DIR": folder, "CMAKE_SOURCE_DIR": ""}
    for name, value in re.findall(r"\bset\((\w+)\s+([^\s()]+)\)", text):
        known[name] = value
    for token in re.findall(r"(?<![<\w./${}+-])[\w./${}+-]+\.(?:cpp|cu|h|c)(?![\w.])", text):
        rooted = token.startswith("${")
        for _ in range(3):
            token = re.sub(r"\$\{(\w+)\}", lambda m: known.get(m.group(1), m.group(0)), token)
        if "$" in token:
            continue  # a library's header, or a file that CMake makes
        yield posixpath.normpath(token.lstrip("/") if rooted else posixpath.join(folder, token))
    # kernels/CMakeLists.txt lists ops by name; each has <op>.cpp, <op>_cpu.cpp and <op>_cuda.cu or .cpp.
    for suffix, names in re.findall(r"set\((ops|library_ops)\s+([^)]*)\)", text):
        cuda = "cu" if suffix == "ops" else "cpp"
        for op in names.split():
            for name in (f"{op}.cpp", f"{op}_cpu.cpp", f"{op}_cuda.{cuda}"):
                yield posixpath.normpath(posixpath.join(folder, "ops", op, name))


def check_cmake():
    named = set()
    for path in tracked:
        if posixpath.basename(path) != "CMakeLists.txt" or path.startswith(FOREIGN):
            continue
        for file in cmake_files(path):
            named.add(file)
            if file not in existing:
                problems.append(f"{path}: names {file}, which does not exist")
    for path in tracked:
        if path.startswith(FOLDERS) and path.endswith((".cpp", ".cu", ".c")) and not path.startswith(FOREIGN):
            if path not in named:
                problems.append(f"{path}: no CMakeLists.txt names it")


def check_includes():
    included = set()
    for path in tracked:
        if not path.endswith((".h", ".cpp", ".cu", ".c")) or path.startswith(FOREIGN):
            continue
        for opening, name in re.findall(r'^\s*#\s*include\s*(["<])([^">]+)[">]', read(path), re.M):
            names = ["engine/api/" + name if name.startswith("spire/") else name]
            if opening == '"':
                names.append(posixpath.join(posixpath.dirname(path), name))
            included.update(n for n in names if n in existing)
            if name.startswith(FOLDERS + ("spire/",)) and not any(n in existing for n in names):
                problems.append(f"{path}: includes {name}, which does not exist")
    for path in tracked:
        if path.startswith(FOLDERS) and path.endswith(".h") and path not in included:
            if not path.startswith(FOREIGN + ("engine/api/",)) and not is_replacement(path):
                problems.append(f"{path}: nobody includes it")


def is_replacement(path):
    """Headers that stand in for a library's: tests/emulation/cuda_runtime.h."""
    return path.startswith("tests/emulation/")


def check_comments():
    ends = {"/".join(path.split("/")[i:]) for path in tracked for i in range(path.count("/") + 1)}
    made = {"page_text.cpp"}  # by CMake
    for path in tracked:
        if not path.startswith(FOLDERS) or not path.endswith((".h", ".cpp", ".cu")):
            continue
        for number, line in enumerate(read(path).split("\n"), 1):
            comment = re.search(r"(?:^| )// .*", line)
            for name in re.findall(
                    r"(?:\w+/)+[\w-]+\.(?:h|cpp|cu|py|sh|js|md)\b|\b\w+_\w+\.(?:h|cpp|cu)\b", comment[0] if comment else ""):
                if name not in ends | made and not name.startswith(("tensorflow/", "doc/")):
                    problems.append(f"{path}:{number}: mentions {name}, which does not exist")


def check_markdown():
    mention = re.compile(r"`([\w.-]+(?:/[\w.-]+)+\.(?:h|cpp|cu|sh|py|md|yaml|cmake|txt|json|c|supp))`")
    made = ("build/", "runs/", "checkpoints/", ".cache/")  # by a build or a run
    for path in tracked:
        if not path.endswith(".md"):
            continue
        text = read(path)
        if path == "CONTRIBUTING.md":  # a path above a block of C++ is a file that a worked example makes
            text = re.sub(r"^`[^`\n]+`(?=\n\n```cpp\n)", "", text, flags=re.M)
        text = re.sub(r"^```.*?^```", lambda m: "\n" * m.group(0).count("\n"), text, flags=re.M | re.S)
        for number, line in enumerate(text.split("\n"), 1):
            for name in mention.findall(line):
                if not name.startswith(made) and name not in existing:
                    problems.append(f"{path}:{number}: mentions {name}, which does not exist")
            for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", line):
                file = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
                if "://" not in target and file not in existing and file not in folders:
                    problems.append(f"{path}:{number}: links to {target}, which does not exist")


check_cmake()
check_includes()
check_comments()
check_markdown()
for problem in problems:
    print(problem)
sys.exit(1 if problems else 0)
