#!/usr/bin/env bash
# No kernel of ours has a stack or local memory: what does not fit into registers goes to memory and back, thread by
# thread. An index that is not a constant, into an array or an argument of a kernel, is what mostly does it.
# Usage: local_memory.sh CUOBJDUMP LIBRARY...   Exit code 77: there is no cuobjdump.
set -euo pipefail

cuobjdump=$1
shift
[ -x "$cuobjdump" ] || { echo "skipped: no cuobjdump, which comes with the CUDA toolkit"; exit 77; }

# A line a kernel and architecture: "<arch> <stack> <local> <name>".
kernels() {
  "$cuobjdump" -res-usage "$1" | awk '
    /^arch =/ { arch = $3 }
    $1 == "Function" { name = $2; sub(/:$/, "", name) }
    $1 ~ /^REG:/ {
      stack = $0; sub(/.*STACK:/, "", stack); sub(/ .*/, "", stack)
      local = $0; sub(/.*LOCAL:/, "", local); sub(/ .*/, "", local)
      print arch, stack, local, name
    }'
}

count=0 found=0
for library in "$@"; do
  usage=$(kernels "$library")
  while read -r arch stack local name; do
    [ -n "$name" ] || continue
    count=$((count + 1))
    [ "$stack" = 0 ] && [ "$local" = 0 ] && continue
    found=$((found + 1))
    echo "$arch: $(c++filt "$name"): $stack bytes of stack, $local of local memory a thread, in ${library##*/}"
  done <<<"$usage"
done
[ "$count" -gt 0 ] || { echo "no kernel is in $*"; exit 1; }
echo "$found of $count kernels use local memory"
[ "$found" = 0 ]
