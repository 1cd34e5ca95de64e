#!/usr/bin/env python3
"""Runs the commands that the pages show, and the shipped configs, on emulated servers with a scripted NVML.

Usage: server_test.py REPOSITORY EMULATED_TRAINER SCRIPTED_NVML [--gpus 1,2,4,8] [--state idle,busy,...] [--only TEXT]

Every command works there, or is refused as `refusals` says. Models and data are tiny (`shrink.py`), the commands are the
pages' own. By default: eight GPUs, all idle; SPIRE_TESTS=long: 1, 2, 4 and 8 GPUs in every state.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

import small_inputs
from scripted_server import STATES, environment_of

PAGES = ["README.md", "docs/running.md", "docs/processes.md", "docs/predicting.md"]
HERE = pathlib.Path(__file__).resolve().parent

# What is not run here, and why.
NOT_RUN = {
    r"^docker |^sysctl |scontrol": "needs Docker, root or Slurm",
    r"10\.9\.0\.|hosts\.txt|^srun |keepalive": "needs other hosts",
    r"^tools/": "is what runs this test",
    r"--model resnet20|--steps STEPS": "takes minutes on emulated GPUs; tests/bench has it",
}


def commands_of(page):
    """The commands of a page's code blocks that start `trainer`, in order."""
    text = page.read_text()
    for block in re.findall(r"^ *```\w*\n(.*?)^ *```", text, re.S | re.M):
        for line in block.replace("\\\n", " ").splitlines():
            line = re.sub(r"\s+#\s.*$", "", line).strip()
            if re.match(r"(trainer|mpirun|torchrun|srun|taskset|docker|for|[A-Z_]+=\S*) ", line) and "trainer " in line:
                yield re.sub(r"\s*&$", "", line)


SEVERAL = r"--processes (\d+)|mpirun -np (\d+)|nproc-per-node (\d+)"


def refusal_of(command, gpus, towers):
    """The exit code and a part of the message of a command that this server refuses, else None."""
    named = [int(number) for number in re.findall(r"cuda:(\d+)", command)]
    if "CUDA_VISIBLE_DEVICES=-1" in command:
        return 3, "no CUDA device is available"
    if named and max(named) >= gpus:
        return 3, "is not there" if "sweep" in command else "no such device" if gpus else "no CUDA device is available"
    several = re.search(SEVERAL, command)
    processes = int(next(filter(None, several.groups()))) if several else 1
    if towers == 1 and (processes > 1 or re.search(r"run.yaml devices=2xcpu$", command)):
        return 2, "only 1 tower: some devices would have nothing to do"
    jobs = re.search(r"--jobs (\d+)", command)
    if jobs and 0 < gpus < int(jobs.group(1)):
        return 2, "a device that --devices names twice runs two jobs"
    return None


class Server:
    def __init__(self, trainer, nvml, gpus, state):
        self.state = state
        self.work = pathlib.Path(tempfile.mkdtemp(prefix="spire_server_"))
        self.environment = os.environ | environment_of(state, gpus, self.work, nvml)
        self.visible = STATES[state].visible(gpus)
        self.environment |= {"EMULATED_TRAINER": str(trainer), "PATH": f"{self.work}/bin:{os.environ['PATH']}",
                             "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        (self.work / "bin").mkdir()
        (self.work / "bin/trainer").symlink_to(HERE / "shrink.py")

    def run(self, command):
        return subprocess.run(["bash", "-c", command], cwd=self.work, env=self.environment, text=True,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=300)

    def problem_of(self, command, towers):
        """Runs it; returns what is wrong, or None. towers: of run.yaml."""
        try:
            done = self.run(command)
        except subprocess.TimeoutExpired:
            return "does not end within 300 s"
        refusal = refusal_of(command, self.visible, towers)
        if STATES[self.state].lost and "trainer doctor" in command:
            refusal = 3, "not all is well: 'gpu_health'"
        end = done.stderr.strip()[-1500:]
        if refusal is None:
            # The data of most shipped configs is not there.
            fine = (0, 4, 5) if "--check" in command and "configs/" in command else (0,)
            fine = (0, 1) if "trainer compare" in command else fine  # 1: the runs differ
            return None if done.returncode in fine else f"ends with {done.returncode}: {end}"
        code, words = refusal
        if done.returncode == code and words in done.stderr:
            return None
        return f"is not refused with {code} and '{words}' but ends with {done.returncode}: {end}"

    def close(self):
        shutil.rmtree(self.work)


def why_not_run(command):
    if command.split()[0] in ("mpirun", "torchrun") and not shutil.which(command.split()[0]):
        return f"{command.split()[0]} is not installed"
    return next((why for pattern, why in NOT_RUN.items() if re.search(pattern, command)), None)


def page_commands(repository):
    """Pairs of a command and the towers of run.yaml, which `trainer init` drafts with one."""
    commands = [(command, 1) for command in small_inputs.PREPARING]
    pages = [command for page in PAGES for command in commands_of(repository / page)]
    commands += [(command, 1) for command in pages]
    commands += [(f"trainer --config configs/{config.name} --check", 1)
                 for config in sorted((repository / "configs").glob("*.yaml"))]
    commands.append((small_inputs.FOUR_TOWERS, 4))
    commands += [(command, 4) for command in pages if refusal_of(command, 8, 1) and "run.yaml" in command]
    return [(command, towers) for command, towers in dict.fromkeys(commands) if not why_not_run(command)]


def check(server, repository, only):
    """Returns the problems, and how many commands ran."""
    small_inputs.write(repository, server.work)
    prepares = [*small_inputs.PREPARING, small_inputs.FOUR_TOWERS]
    problems, ran = [], 0
    for command, towers in page_commands(repository):
        if only and only not in command and command not in prepares:
            continue
        begun = time.monotonic()
        problem = server.problem_of(command, towers)
        ran += 1
        if only or os.environ.get("VERBOSE"):
            print(f"  {time.monotonic() - begun:5.1f} s  {command}")
        if problem:
            problems.append(f"{command}\n    {problem}")
    return problems, ran


def main():
    long = os.environ.get("SPIRE_TESTS") == "long"
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repository", type=pathlib.Path)
    parser.add_argument("trainer", type=pathlib.Path)
    parser.add_argument("nvml", type=pathlib.Path)
    parser.add_argument("--gpus", default="1,2,4,8" if long else "8")
    parser.add_argument("--state", default=",".join(STATES) if long else "idle")
    parser.add_argument("--only", help="the commands with this text alone")
    asked = parser.parse_args()
    failed = 0
    for gpus in map(int, asked.gpus.split(",")):
        for state in asked.state.split(","):
            server = Server(asked.trainer.resolve(), asked.nvml.resolve(), gpus, state)
            try:
                problems, ran = check(server, asked.repository.resolve(), asked.only)
            finally:
                server.close()
            failed += len(problems)
            print(f"{gpus} GPUs, {state}: {ran} commands, {len(problems)} wrong", flush=True)
            for problem in problems:
                print(f"  {problem}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
