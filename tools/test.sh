#!/usr/bin/env bash
# Installs what is missing, builds Spire and runs every test. tools/test.sh --help lists the options.
set -euo pipefail

usage() {
  cat <<'TEXT'
Usage: tools/test.sh [--preset NAME] [--filter REGEX] [--jobs N] [--gpus LIST] [--no-install]

Installs missing packages (third_party/install-deps.sh), builds into build/NAME and runs every test by CTest.
  --preset NAME    release (default), debug, asan, tsan or cuda
  --filter REGEX   only tests whose name matches
  --jobs N         compile jobs and tests at a time (default: the cores this process may use)
  --gpus LIST      GPU architectures to compile for: auto (default), native, fat, or 90, "80;90", ... (docs/building.md)
  --no-install     takes what is there, asks no package manager
TEXT
}

preset=release filter='' jobs=$(nproc) gpus='' install=true
while [ $# -gt 0 ]; do
  case $1 in
    --preset | --filter | --jobs | --gpus)
      [ $# -ge 2 ] || { usage >&2; exit 2; }
      declare "${1#--}=$2"
      shift 2
      ;;
    --no-install) install=false; shift ;;
    -h | --help) usage; exit 0 ;;
    *) usage >&2; exit 2 ;;
  esac
done

cd "$(dirname "${BASH_SOURCE[0]}")/.."
! $install || third_party/install-deps.sh
cmake --preset "$preset" ${gpus:+"-DSPIRE_CUDA_ARCHITECTURES=$gpus"}
cmake --build "build/$preset" --parallel "$jobs"

run_tests() { ctest --test-dir "build/$preset" --output-on-failure ${filter:+-R "$filter"} "$@"; }
run_tests --show-only --no-tests=error > /dev/null || { echo "no test matches '$filter'" >&2; exit 1; }
# Those that wait for time limits use an eighth of a core each.
failed=0
run_tests --label-regex '^waits$' --parallel $((4 * jobs)) || failed=$?
run_tests --label-exclude '^waits$' --parallel "$jobs" || failed=$?
exit "$failed"
