#!/usr/bin/env bash
# A run of one process whose GPUs hang in the first step ends, and so do a range test and a replay, on emulated GPUs whose
# copies to each other never end. Usage: start_hang_test.sh TRAINER
set -euo pipefail

trainer=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export EMULATED_GPUS=3 XDG_CACHE_HOME=$work SPIRE_LOCKS=$work
words=(model.name=mlp "model.hidden=[4]" data.name=synthetic "data.synthetic.shape=[4, 4, 1]" data.synthetic.samples=64
  data.synthetic.test_samples=8 batch_size=4 steps=2 devices=cuda timeouts.step=2)

fail() {
  echo "start_hang_test: $*" >&2
  exit 1
}

for strategy in parameter_device mirrored sharded; do
  code=0
  EMULATED_FAULTS='0-1 hangs, 0-2 hangs, 1-2 hangs, 1-0 hangs, 2-0 hangs, 2-1 hangs' timeout 120 \
    "$trainer" "${words[@]}" strategy=$strategy "output=$work/$strategy" >"$work/out" 2>"$work/err" || code=$?
  [ $code = 8 ] || fail "$strategy: exit $code: $(cat "$work/err")"
  tail -n 1 "$work/err" | grep -qE '^error\[8\]: .*, cuda:[012]( exchange)?: no progress in .* \(timeouts.step: 2 s\); docs/gpu_hangs.md says what to do$' ||
    fail "$strategy: $(cat "$work/err")"
  ! grep -q 'step 1/' "$work/err" || fail "$strategy: it hung later: $(cat "$work/err")"
done

"$trainer" "${words[@]}" "output=$work/run" >"$work/out" 2>"$work/err" || fail "no run: $(cat "$work/err")"
ends() {
  local code=0
  EMULATED_FAULTS='0-1 hangs, 0-2 hangs, 1-2 hangs, 1-0 hangs, 2-0 hangs, 2-1 hangs' timeout 120 "$trainer" "$@" \
    >"$work/out" 2>"$work/err" || code=$?
  [ $code = 8 ] || fail "$1: exit $code: $(cat "$work/err")"
  tail -n 1 "$work/err" | grep -qE '^error\[8\]: .*no progress in .* \(timeouts.step: 2 s\); docs/gpu_hangs.md' || fail "$1: $(cat "$work/err")"
}
ends audit "$work/run" --from 0
ends lr-find "${words[@]}" --steps 4

# The copies do not hang where NCCL makes them.
EMULATED_FAULTS='0-1 hangs, 1-0 hangs' NCCL_P2P_DISABLE=1 EMULATED_GPUS=2 timeout 120 "$trainer" "${words[@]}" "output=$work/nccl" \
  >"$work/out" 2>"$work/err" || fail "NCCL_P2P_DISABLE=1: exit $?: $(cat "$work/err")"

# A collective that hangs is named by its bucket of the gradient: the connections stop after so many bytes, in the second step.
code=0
EMULATED_NCCL_BYTES=450000 NCCL_P2P_DISABLE=1 EMULATED_GPUS=2 timeout 120 "$trainer" "${words[@]}" "model.hidden=[1024]" \
  steps=8 bucket.first_mib=0.01 bucket.mib=0.01 "output=$work/bucket" >"$work/out" 2>"$work/err" || code=$?
[ $code = 8 ] || fail "a hanging bucket: exit $code: $(cat "$work/err")"
tail -n 1 "$work/err" | grep -qE '^error\[8\]: all threads wait for each other in step 2 .*, cuda:[01]: waiting for bucket [1-9] in step 2; docs/gpu' ||
  fail "a hanging bucket: $(cat "$work/err")"
echo "ended by name"
