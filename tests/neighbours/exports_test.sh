#!/bin/sh
# Usage: exports_test.sh NM LIBRARY NAMES
# The library exports symbols that begin with NAMES, a regular expression, and nothing of the libraries that it is made of:
# a symbol of the standard library's templates would take the place of another library's in the process, or be replaced by
# it.
set -eu
others=$("$1" -D --defined-only "$2" | awk '{ print $3 }' | grep -Ev "^$3" || true)
unique=$("$1" -D --defined-only "$2" | awk '$2 == "u"')
[ -z "$others$unique" ] && exit
echo "$2 exports what is not Spire's:"
printf '%s\n%s\n' "$others" "$unique" | head -n 20
exit 1
