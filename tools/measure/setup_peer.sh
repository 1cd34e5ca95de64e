#!/bin/sh
# Makes a Python environment with the newest PyTorch from PyPI, for the comparison only, and builds native_peer/ on the
# libtorch inside it.
# Usage: tools/measure/setup_peer.sh [DIR]    (default: .cache/peer in the repository; the program: DIR/native_peer)
# Spire itself needs no Python; building and testing do not read this environment.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
dir=${1:-$here/../../.cache/peer}

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

torch=$("$dir/bin/python" -c 'import pathlib, torch; print(pathlib.Path(torch.__file__).parent)')
cmake -S "$here/native_peer" -B "$dir/native_peer" -DCMAKE_BUILD_TYPE=Release -DTORCH="$torch" >/dev/null
cmake --build "$dir/native_peer"
echo "libtorch: $dir/native_peer/native_peer, $dir/native_peer/native_latency"
