#!/usr/bin/env bash
# Runs cases of this folder, and says what each that fails printed (README.md). Usage: run.sh TRAINER CASE...
set -uo pipefail

program=$(realpath "$1")
shift
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/bin"
ln -s "$program" "$scratch/bin/trainer"
# One thread: models this small gain nothing by more.
export PATH="$scratch/bin:$PATH" LC_ALL=C.UTF-8 OMP_NUM_THREADS=1
unset SPIRE_DEVICES

# missing EXPECTED OUTPUT CODE: the lines of EXPECTED that do not hold.
missing() {
  local line
  while IFS= read -r line || [ -n "$line" ]; do
    case $line in
      'exit '*) [ "$line" = "exit $3" ] || echo "$line, got $3" ;;
      '! '*) ! grep -qF -e "${line:2}" "$2" || echo "$line" ;;
      '~ '*) grep -qE -e "${line:2}" "$2" || echo "$line" ;;
      *) grep -qF -e "$line" "$2" || echo "$line" ;;
    esac
  done < "$1"
}

failed=0
for case; do
  name=$(basename "$case")
  copy=$scratch/$name
  cp -r "$case" "$copy"
  output=$scratch/output
  code=0
  (cd "$copy" && HOME=$copy exec bash -e ./cmd) > "$output" 2>&1 < /dev/null || code=$?
  grep -q '^exit [0-9]' "$case/expected" || { echo "$name: expected has no line 'exit CODE'" >&2; failed=1; }
  wrong=$(missing "$case/expected" "$output" $code)
  [ -z "$wrong" ] || { printf '%s: these lines of expected do not hold:\n%s\nit printed:\n' "$name" "$wrong"; cat "$output"; failed=1; } >&2
done
exit $failed
