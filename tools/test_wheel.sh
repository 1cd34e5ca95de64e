#!/usr/bin/env bash
# Builds a wheel, installs it into a fresh environment, and tests it there. tools/test_wheel.sh --help
set -euo pipefail

usage() {
  cat <<'TEXT'
Usage: tools/test_wheel.sh [--python PROGRAM] [--keep FOLDER] [-- PIP_OPTION...]

Builds the Python package as a wheel (python/pyproject.toml), lets auditwheel name the oldest Linux that it runs on,
installs it with NumPy into a new virtual environment, and runs its trainer, docs/examples/train.py and
tests/python/test_*.py there, away from the source tree. Needs a network, or pip's cache, for scikit-build-core,
nanobind, auditwheel and NumPy. It compiles all of the engine: minutes.
  --python PROGRAM  the Python to build for; default: python3
  --keep FOLDER     leaves the wheel in FOLDER/dist, with NumPy's, and the environment beside it; default: a temporary
                    folder, which is removed
  PIP_OPTION        for `pip wheel`, as -C cmake.define.SPIRE_ARCH=native
Exit codes: 0 all passed, 1 a step failed, 2 wrong usage.
TEXT
}

python=python3 folder='' pip_options=()
while [ $# -gt 0 ]; do
  case $1 in
    --python) [ $# -ge 2 ] || { usage >&2; exit 2; }; python=$2; shift 2 ;;
    --keep) [ $# -ge 2 ] || { usage >&2; exit 2; }; folder=$2; shift 2 ;;
    --) shift; pip_options=("$@"); break ;;
    -h | --help) usage; exit 0 ;;
    *) usage >&2; exit 2 ;;
  esac
done
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
if [ -z "$folder" ]; then
  folder=$(mktemp -d)
  trap 'rm -rf "$folder"' EXIT
fi
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
stop() { echo "test_wheel: $*" >&2; exit 1; }

rm -rf "$folder/dist" "$folder/venv"
"$python" -m pip wheel "$root/python" --no-deps -w "$folder/dist" "${pip_options[@]}" || stop "no wheel was built"
"$python" -m venv "$folder/venv" || stop "no environment was made; Debian: apt-get install python3-venv"
"$folder/venv/bin/python" -m pip install -q auditwheel wheel || stop "no auditwheel"
"$folder/venv/bin/auditwheel" show "$folder"/dist/spire-*.whl
tag=$("$folder/venv/bin/auditwheel" show "$folder"/dist/spire-*.whl | sed -n 's/.*platform tag: "\(manylinux_[^"]*\)"\.$/\1/p' | head -n 1)
[ -n "$tag" ] || stop "the wheel is for this Linux alone: auditwheel says above why"
"$folder/venv/bin/python" -m wheel tags --remove --platform-tag "$tag" "$folder"/dist/spire-*.whl
"$folder/venv/bin/python" -m pip download -q -d "$folder/dist" "$folder"/dist/spire-*.whl || stop "no NumPy"
"$folder/venv/bin/python" -m pip install -q "$folder"/dist/spire-*.whl || stop "the wheel was not installed"
cd "$folder"
"$folder/venv/bin/trainer" --version || stop "its trainer does not start"
for script in docs/examples/train.py tests/python/test_spire.py tests/python/test_layers.py tests/python/test_packed.py tests/python/test_trainer.py; do
  env -u PYTHONPATH "$folder/venv/bin/python" "$root/$script" || stop "$script failed"
done
"$folder/venv/bin/python" - <<'PYTHON' || stop "the wheel lacks its type stubs"
import pathlib, spire
folder = pathlib.Path(spire.__file__).parent
assert (folder / "py.typed").exists() and list(folder.rglob("*.pyi")), folder
PYTHON
echo "test_wheel: passed, $(basename "$folder"/dist/spire-*.whl), $(du -h "$folder"/dist/spire-*.whl | cut -f1)"
