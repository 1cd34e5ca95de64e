#!/usr/bin/env bash
# Builds the fuzz targets and runs each in turn. tools/fuzz.sh --help says how.
set -euo pipefail

usage() {
  cat <<'TEXT'
Usage: tools/fuzz.sh [SECONDS] [TARGET ...]

Builds every fuzz target (preset fuzz: clang, libFuzzer, AddressSanitizer, UndefinedBehaviorSanitizer) and runs each
for SECONDS (default 60), or only those named (config, idx, ...). Ends with a table and, where something was found,
with 1: the input is in build/fuzz/findings/TARGET. What was learnt stays in build/fuzz/corpus/TARGET for the next time.
Give the input a name, put it into tests/fuzz/corpus/TARGET, and the tests replay it from then on.
TEXT
}

seconds=60
case ${1:-} in
  -h | --help) usage; exit 0 ;;
  '' | *[!0-9]*) ;;
  *) seconds=$1; shift ;;
esac
wanted=("$@")
for name in "${wanted[@]}"; do
  [[ $name =~ ^[a-z0-9_]+$ ]] || { usage >&2; exit 2; }
done

cd "$(dirname "${BASH_SOURCE[0]}")/.."
command -v clang++ >/dev/null || { echo "fuzz: no clang++ here; third_party/install-deps.sh --fuzz installs it" >&2; exit 3; }
build=build/fuzz
cmake --preset fuzz >/dev/null
cmake --build "$build" --target fuzzers
mapfile -t known < <(cd "$build/tests/fuzz" && for file in fuzz_*_seeds; do name=${file#fuzz_}; echo "${name%_seeds}"; done)
[ ${#wanted[@]} -gt 0 ] || wanted=("${known[@]}")

# The last figure that libFuzzer printed under a name: stat LOG NAME.
stat() { sed -n "s/^stat::$2: *//p" "$1" | tail -n 1; }

table=$(printf '%-14s %9s %12s %9s  %s' target seconds inputs MiB verdict) status=0
for name in "${wanted[@]}"; do
  program=$build/tests/fuzz/fuzz_$name
  [ -x "$program" ] || { echo "fuzz: no target $name; there are: ${known[*]}" >&2; exit 2; }
  corpus=$build/corpus/$name findings=$build/findings/$name log=$build/$name.log
  mkdir -p "$corpus" "$findings"
  "${program}_seeds" "$build/seeds/$name"
  folders=("$corpus" "$build/seeds/$name")
  [ ! -d "tests/fuzz/corpus/$name" ] || folders+=("tests/fuzz/corpus/$name")
  dictionary=()
  [ ! -f "tests/fuzz/$name.dict" ] || dictionary=("-dict=tests/fuzz/$name.dict")
  echo "fuzz: $name for $seconds s"
  started=$SECONDS verdict=clean
  "$program" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=2048 -malloc_limit_mb=512 -print_final_stats=1 \
    -artifact_prefix="$findings/" "${dictionary[@]}" "${folders[@]}" >"$log" 2>&1 || verdict="FOUND: $findings, $log"
  [ "$verdict" = clean ] || { status=1; grep -m 3 -E 'ERROR|runtime error|what\(\)' "$log" || true; }
  table+=$'\n'$(printf '%-14s %9s %12s %9s  %s' "$name" $((SECONDS - started)) \
    "$(stat "$log" number_of_executed_units)" "$(stat "$log" peak_rss_mb)" "$verdict")
done
echo
echo "$table"
exit $status
