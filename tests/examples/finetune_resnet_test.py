"""Runs docs/examples/finetune_resnet.sh --quick:  finetune_resnet_test.py ROOT TRAINER

ROOT: the folder of docs and configs. Skipped (77) without Debian's dataset-fashion-mnist."""

import os
import re
import subprocess
import sys
import tempfile

root, trainer = sys.argv[1:]
script = f"{root}/docs/examples/finetune_resnet.sh"
if not os.path.isdir("/usr/share/datasets/fashion-mnist"):
    print("skipped: no /usr/share/datasets/fashion-mnist")
    sys.exit(77)


def run(folder):
    words = [script, "--quick", folder]
    return subprocess.run(words, env={**os.environ, "TRAINER": trainer}, capture_output=True, text=True)


with tempfile.TemporaryDirectory() as scratch:
    done = run(f"{scratch}/out")
    print(done.stdout, done.stderr)
    assert done.returncode == 0
    found = re.findall(r"accuracy on the five new classes, (fine-tuned|from scratch): +([\d.]+) %", done.stdout)
    assert [name for name, _ in found] == ["fine-tuned", "from scratch"]
    assert all(0 < float(percent) <= 100 for _, percent in found)
    start = open(f"{scratch}/out/fine_tuned.log").read() + open(f"{scratch}/out/fine_tuned/config.yaml").read()
    assert "model.safetensors" in start
    again = run(f"{scratch}/out")
    assert again.returncode == 2 and "is there already" in again.stderr
