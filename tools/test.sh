#!/usr/bin/env bash
# Installs what is missing, builds Spire and runs every test. tools/test.sh --help lists the options.
set -euo pipefail

usage() {
  cat <<'TEXT'
Usage: tools/test.sh [--changed [BASE]] [--preset NAME] [--filter REGEX] [--jobs N] [--gpus LIST] [--no-install]

Installs missing packages (third_party/install-deps.sh), builds into build/NAME and runs every test by CTest.
  --changed [BASE] builds and runs only the tests of the files changed since the commit BASE (default: HEAD, so what is
                   not committed), and installs nothing; where only documents changed it lints
  --preset NAME    release (default), debug, asan, tsan or cuda
  --filter REGEX   only CTest cases whose name matches; these are PROGRAM.SUITE, as kernels_test.Everywhere/AddTest
  --jobs N         compile jobs and tests at a time (default: the cores this process may use)
  --gpus LIST      GPU architectures to compile for: auto (default), native, fat, or 90, "80;90", ... (docs/building.md)
  --no-install     takes what is there, asks no package manager
SPIRE_TESTS=long in the environment tries all cases of tests that have a short form, too (tools/nightly.sh).
TEXT
}

changed=false base=HEAD preset=release filter='' jobs=$(nproc) gpus='' install=true
while [ $# -gt 0 ]; do
  case $1 in
    --changed)
      changed=true install=false
      shift
      case ${1:-} in '' | -*) ;; *) base=$1; shift ;; esac
      ;;
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
build=$PWD/build/$preset

# step NAME COMMAND...: runs it and keeps its seconds, for tools/ci/times.py.
step() {
  local name=$1 begun=$SECONDS code=0
  shift
  "$@" || code=$?
  printf '%s\t%s\n' $((SECONDS - begun)) "$name" >> "$build/steps.txt"
  return $code
}

# Tests that were skipped, a line for each reason.
say_skipped() {
  awk '/: Skipped$/ { getline reason }
    /^\[  SKIPPED \] .* \([0-9]+ ms\)$/ { if (!n[reason]++) first[reason] = $4 }
    END { for (r in n) printf "skipped: %s%s: %s\n", first[r], (n[r] > 1 ? " and " n[r] - 1 " more" : ""), r }' \
    "$build/Testing/Temporary/LastTest.log"
}

# run_tests NAME JOBS OPTION...: what CTest says of their times is kept in tests_NAME.xml.
run_tests() {
  local name=$1 parallel=$2 code=0
  shift 2
  ctest --test-dir "$build" --output-on-failure --output-junit "$build/tests_$name.xml" --parallel "$parallel" \
    ${filter:+-R "$filter"} "$@" || code=$?
  say_skipped
  return $code
}

targets=()
if $changed; then
  [ -f "$build/build.ninja" ] || cmake --preset "$preset" ${gpus:+"-DSPIRE_CUDA_ARCHITECTURES=$gpus"}
  choice=$(tools/ci/changed_tests.py "$base" "$build")
  case $choice in
    '') echo "no test is concerned; linting"; exec tools/lint.sh ;;
    all*) echo "every test may be concerned" ;;
    *)
      read -ra targets <<< "${choice%%$'\n'*}"
      filter=${choice#*$'\n'}
      ;;
  esac
  : > "$build/steps.txt"
else
  ! $install || third_party/install-deps.sh
  mkdir -p "$build"
  : > "$build/steps.txt"
  step configure cmake --preset "$preset" ${gpus:+"-DSPIRE_CUDA_ARCHITECTURES=$gpus"}
fi
step build cmake --build "$build" --parallel "$jobs" ${targets[@]+--target "${targets[@]}"}

ctest --test-dir "$build" ${filter:+-R "$filter"} --show-only --no-tests=error > /dev/null ||
  { echo "no test matches '$filter'" >&2; exit 1; }
# Those that wait for time limits use an eighth of a core each.
failed=0
step 'tests that wait' run_tests waits $((4 * jobs)) --label-regex '^waits$' || failed=$?
step tests run_tests others "$jobs" --label-exclude '^waits$' || failed=$?
! $changed || echo "only what the change concerns was built and tested; tools/test.sh does all"
exit "$failed"
