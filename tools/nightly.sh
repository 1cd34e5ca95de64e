#!/usr/bin/env bash
# What takes too long for every change: the long forms of tests, other presets, packages. tools/nightly.sh --help
set -euo pipefail

# NAME | runs by default | what | command, of bash, in the repository's root
checks='
tests    | yes | all tests in their long form        | SPIRE_TESTS=long tools/test.sh
headers  | yes | every header compiles alone         | cmake --build build/release --target lint_headers
tidy     | no  | clang-tidy of what main has not     | cmake --preset debug && tools/lint.sh --tidy main
asan     | no  | all tests with AddressSanitizer     | tools/test.sh --preset asan
tsan     | no  | all tests with ThreadSanitizer      | tools/test.sh --preset tsan
debug    | no  | all tests without optimization      | tools/test.sh --preset debug
odr      | no  | one name, one class, in all floors  | cmake --preset odr && cmake --build --preset odr
perturb  | no  | all tests, freed memory overwritten | MALLOC_PERTURB_=123 tools/test.sh
fuzz     | no  | a minute of each fuzz target        | tools/fuzz.sh 60
first    | no  | tools/quickstart.sh in a bare root  | rm -rf build/nightly/root && tools/bare_machine_test.sh build/nightly/root tools/quickstart.sh
packages | no  | DEB, TGZ, bundle, wheel, image      | tools/package_check.sh --gpus 90 build/nightly/roots
'

usage() {
  cat <<TEXT
Usage: tools/nightly.sh [--list] [--all] [--with NAME]... [--only NAME]...

Runs the checks that take too long for .ci/run, one after the other, also after one that fails, and prints a table. Run
it before an issue is called done. What a check prints is kept in build/nightly/NAME.log.
  --list        prints the checks and runs none
  --all         runs every check
  --with NAME   also runs a check that does not run by default
  --only NAME   runs this one, and no other but those also named
Exit code: 0 all passed, 1 a check failed, 2 wrong usage.

$(list)
TEXT
}

list() {
  sed '/^$/d; s/ *| */|/g' <<< "$checks" | awk -F'|' '{ printf "%-10s %-4s %-36s %s\n", $1, $2 == "yes" ? "" : "asked", $3, $4 }'
}

all=false with=' ' only=' '
while [ $# -gt 0 ]; do
  case $1 in
    --list) list; exit 0 ;;
    --all) all=true; shift ;;
    --with | --only)
      [ $# -ge 2 ] || { usage >&2; exit 2; }
      grep -q "^$2 *|" <<< "$checks" || { echo "nightly: no check '$2'; tools/nightly.sh --list names them" >&2; exit 2; }
      if [ "$1" = --with ]; then with+="$2 "; else only+="$2 "; fi
      shift 2
      ;;
    -h | --help) usage; exit 0 ;;
    *) usage >&2; exit 2 ;;
  esac
done

# chosen NAME DEFAULT
chosen() {
  if [ "$only" != ' ' ]; then
    [[ $only$with == *" $1 "* ]]
  else
    $all || [ "$2" = yes ] || [[ $with == *" $1 "* ]]
  fi
}

cd "$(dirname "${BASH_SOURCE[0]}")/.."
mkdir -p build/nightly
status=0 table=''
while IFS='|' read -r name default what command; do
  if [ -z "$name" ] || ! chosen "$name" "$default"; then continue; fi
  echo "nightly: $name: $command"
  begun=$SECONDS verdict=passed
  bash -c "$command" > "build/nightly/$name.log" 2>&1 < /dev/null || { verdict=FAILED status=1; tail -n 20 "build/nightly/$name.log"; }
  table+=$(printf '| %-8s | %-35s | %-6s | %7s |' "$name" "$what" "$verdict" $((SECONDS - begun)))$'\n'
done < <(sed 's/ *| */|/g' <<< "$checks")
printf '| %-8s | %-35s | %-6s | %7s |\n|---|---|---|---|\n%s' check what result seconds "$table"
exit $status
