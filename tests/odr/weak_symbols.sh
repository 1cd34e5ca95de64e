#!/usr/bin/env bash
# Fails where two of the given object files or archives define one weak symbol with different sizes: two classes or
# inline functions of one name (the linker keeps one of them, silently). Compile them with -O0 and equal options:
# optimization changes the sizes of equal functions, too.
# Usage: weak_symbols.sh OBJECT|ARCHIVE ...
set -euo pipefail
[ $# -gt 0 ] || { echo "weak_symbols.sh: no object files" >&2; exit 2; }

# nm -A -S prints FILE:[MEMBER:]ADDRESS SIZE TYPE NAME. Types: W function, V object, u unique static variable.
nm -A -S --defined-only --no-sort "$@" | awk '
  # Functions of the standard library alone are not ours, and depend on options such as -march.
  NF == 4 && $3 ~ /^[WVu]$/ && !($4 ~ /^_ZN?K?S[tabsiod]/ && $4 !~ /5spire/) {
    file = $1
    sub(/:[0-9a-f]+$/, "", file)
    if (!($4 in size)) { size[$4] = $2; first[$4] = file; ++symbols }
    else if (size[$4] != $2 && !($4 in bad)) {
      bad[$4] = 1; ++count
      printf "%s: size %s in %s, %s in %s\n", $4, size[$4], first[$4], $2, file
    }
  }
  END {
    if (symbols == 0) { print "no weak symbols: are these object files?"; exit 1 }
    if (count > 0) { printf "%d of %d weak symbols have two sizes: give the classes names of their own\n", count, symbols; exit 1 }
    printf "%d weak symbols, one size each\n", symbols
  }' | c++filt
