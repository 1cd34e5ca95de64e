#!/usr/bin/env python3
"""Lists what each CUDA file of a build costs to compile: user + system time, without ccache.

cuda_compile_times.py build/release [--only REGEX]
"""

import argparse
import json
import re
import resource
import shlex
import subprocess
from pathlib import Path


def cpu_seconds(command: dict) -> float:
    words = shlex.split(command["command"])
    if "ccache" in Path(words[0]).name:
        words = words[1:]
    words[words.index("-o") + 1] = "/dev/null"
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(words, cwd=command["directory"], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=Path)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    total = 0.0
    for command in json.loads((options.build / "compile_commands.json").read_text()):
        name = Path(command["file"]).name
        if "-x cu " in command["command"] and re.search(options.only, name):
            seconds = cpu_seconds(command)
            total += seconds
            print(f"{seconds:7.1f} s  {name}", flush=True)
    print(f"{total:7.1f} s  all")


if __name__ == "__main__":
    main()
