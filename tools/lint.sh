#!/usr/bin/env bash
# Checks what needs no build. tools/lint.sh --help lists the checks.
set -euo pipefail

usage() {
  cat <<'TEXT'
Usage: tools/lint.sh [--tidy [BASE]]

Checks the tree without building it, in about a minute on two cores and without a network:
  format      clang-format of every C++ and CUDA file, and of the script of pages
  files       CMakeLists.txt name every source, somebody includes every header, all named files exist
  markdown    lines of at most 120 columns; tables, code blocks and single long words are free
  numbers     files of at most 500 lines, folders of at most 45 files, functions of at most 80 lines
  budget      product and test lines, files, rooms, public headers: no more than tools/lint/budget.json
  duplicates  six or more equal lines in two files: no more than today
  api         public headers include no other
  cuda        CUDA files reach no header that takes nvcc long
  words       no word of tools/lint/retired_words.txt
  --tidy      also clang-tidy on the files changed since BASE (default: main), as cmake --preset debug compiles them
Every header compiles alone: cmake --build build/release --target lint_headers
TEXT
}

max_duplicates=10 tidy=false base=main
case ${1:-} in
  '') ;;
  --tidy) tidy=true base=${2:-main} ;;
  -h | --help) usage; exit 0 ;;
  *) usage >&2; exit 2 ;;
esac
cd "$(dirname "${BASH_SOURCE[0]}")/.."
for program in clang-format ctags python3; do
  command -v "$program" >/dev/null ||
    { echo "lint: no $program here; third_party/install-deps.sh installs it" >&2; exit 3; }
done

status=0
# check NAME COMMAND...: runs a check and goes on after a failure, so that one call shows all.
check() {
  local name=$1
  shift
  "$@" || { echo "lint: $name failed" >&2; status=1; }
}

# Files of the working tree, without those that git ignores or that were deleted.
sources() {
  git ls-files --cached --others --exclude-standard "$@" | while read -r file; do [ ! -f "$file" ] || echo "$file"; done
}

formatted() {
  sources '*.h' '*.cpp' '*.cu' '*.js' '*.mjs' | xargs -P "$(nproc)" -n 24 clang-format --dry-run --Werror
}

words() {
  local pattern
  pattern=$(sed -E '/^#/d; s/ *#.*//; /^$/d' tools/lint/retired_words.txt | paste -sd '|')
  local found=0
  git grep --untracked -nwIE "$pattern" -- ':!tools/lint/retired_words.txt' ':!tests/fuzz/corpus' ':!*.json' || found=$?
  [ $found -eq 1 ]  # 0: found some; others: git failed
}

clang_tidy() {
  git diff --name-only --diff-filter=d "$base" -- 'engine/*.cpp' 'kernels/*.cpp' 'models/*.cpp' 'tools/*.cpp' |
    xargs -r -P "$(nproc)" -n 1 clang-tidy -p build/debug --quiet --warnings-as-errors='*'
}

check format formatted
check files tools/lint/files.py
check markdown tools/lint/markdown.py
check numbers tools/lint/measure.py
check budget tools/lint/budget.py
check duplicates tools/lint/duplicates.py "$max_duplicates"
check api tools/lint/public_api.py
check cuda tools/lint/cuda_includes.py
check words words
! $tidy || check clang-tidy clang_tidy
[ $status -ne 0 ] || echo "lint: clean"
exit $status
