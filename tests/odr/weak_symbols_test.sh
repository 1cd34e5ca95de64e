#!/usr/bin/env bash
# Shows that weak_symbols.sh finds two classes of one name, and nothing in two uses of one class.
# Usage: weak_symbols_test.sh WEAK_SYMBOLS COMPILER FOLDER
set -euo pipefail
check=$1 compiler=$2 folder=$3
mkdir -p "$folder"
cd "$folder"

# unit NAME MEMBERS: an object file with a class Row, whose inline function depends on its members.
unit() {
  printf 'struct Row { %s; int sum() { return a + %s; } };\nint %s(Row r) { return r.sum(); }\n' "$2" "$3" "$1" >"$1.cpp"
  "$compiler" -O0 -c "$1.cpp" -o "$1.o"
}
unit one 'int a, b' b
unit same 'int a, b' b
unit other 'int a; double b' 'static_cast<int>(b)'

"$check" one.o same.o
if "$check" one.o other.o >found.txt; then
  echo "two classes Row were not found" >&2
  exit 1
fi
grep -q '^Row::sum().*: size .* in one.o, .* in other.o' found.txt || { cat found.txt >&2; exit 1; }
rm -f archive.a
ar rcs archive.a one.o other.o
if "$check" archive.a >found.txt; then
  echo "two classes Row in one archive were not found" >&2
  exit 1
fi
if "$check" >/dev/null 2>&1; then
  echo "no object files were no error" >&2
  exit 1
fi
