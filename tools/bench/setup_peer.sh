#!/bin/sh
# Makes a Python environment with the newest PyTorch from PyPI, for the comparison only.
# Usage: tools/bench/setup_peer.sh [DIR]    (default: .cache/peer in the repository)
# Spire itself needs no Python; building and testing do not read this environment.
set -eu

root=$(cd "$(dirname "$0")/../.." && pwd)
dir=${1:-$root/.cache/peer}

if [ ! -x "$dir/bin/python" ]; then
  mkdir -p "$(dirname "$dir")"
  if ! python3 -m venv "$dir"; then
    rm -rf "$dir"
    echo "setup_peer.sh: python3 cannot make an environment in $dir; on Debian: apt-get install python3-venv" >&2
    exit 3
  fi
fi
"$dir/bin/python" -m pip install --quiet --upgrade torch numpy setuptools
"$dir/bin/python" -c 'import torch; print("PyTorch", torch.__version__, torch.backends.cpu.get_cpu_capability())'
echo "python: $dir/bin/python"
