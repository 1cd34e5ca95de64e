#!/usr/bin/env bash
# local_memory.sh against a cuobjdump that only pretends: local_memory_test.sh SCRIPT
set -uo pipefail
script=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

stop() { echo "local_memory_test: $1: $(cat "$scratch/said")" >&2; exit 1; }
# check CODE TEXT: exit code and a line of what it says where cuobjdump prints its standard input.
check() {
  cat >"$scratch/usage"
  "$script" "$scratch/cuobjdump" "$scratch/libours.a" >"$scratch/said" 2>&1
  local code=$?
  [ "$code" = "$1" ] || stop "exit $code, not $1"
  grep -qF -- "$2" "$scratch/said" || stop "'$2' is missing"
}
# usage STACK LOCAL: of a kernel that is called fill(float*).
usage() {
  printf 'arch = sm_90\nResource usage:\n Common:\n  GLOBAL:0\n'
  printf ' Function _Z4fillPf:\n  REG:40 STACK:%s SHARED:0 LOCAL:%s CONSTANT[0]:560 TEXTURE:0 SURFACE:0 SAMPLER:0\n' "$1" "$2"
}

check 77 "no cuobjdump" </dev/null
printf '#!/usr/bin/env bash\ncat "%s/usage"\n' "$scratch" >"$scratch/cuobjdump"
chmod +x "$scratch/cuobjdump"
check 0 "0 of 2 kernels" < <(usage 0 0; usage 0 0)
check 1 "sm_90: fill(float*): 40 bytes of stack, 0 of local memory a thread, in libours.a" < <(usage 0 0; usage 40 0)
check 1 "sm_90: fill(float*): 0 bytes of stack, 8 of local memory a thread, in libours.a" < <(usage 0 8)
check 1 "no kernel is in" </dev/null
