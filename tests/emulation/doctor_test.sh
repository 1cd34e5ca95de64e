#!/usr/bin/env bash
# trainer doctor on emulated GPUs, of which some copy wrong or never end a copy.
# Usage: doctor_test.sh TRAINER
set -euo pipefail

trainer=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
  echo "doctor_test: $*" >&2
  cat "$work/out" >&2
  exit 1
}

# doctor CODE: runs it, and requires that exit code.
doctor() {
  local code=0
  EMULATED_GPUS=3 timeout 120 "$trainer" doctor --quiet --copy-seconds 1 -o "$work/runs" >"$work/out" 2>"$work/err" || code=$?
  [ "$code" = "$1" ] || fail "exit code $code, expected $1: $(cat "$work/err")"
}

expect() { grep -qE -- "$1" "$work/out" || fail "no line like '$1'"; }

doctor 0
expect 'OK +peer_copies +cuda:0 to cuda:1 .*/s direct, cuda:2 .*/s direct'
expect 'OK +peer_copies +cuda:2 to cuda:0 '
expect 'OK +cuda .*cuda:2 \(emulation'

EMULATED_PEERS=0,2 doctor 0
expect 'OK +peer_copies +cuda:0 to cuda:1 .*/s through the host, cuda:2 .*/s direct'

# The copies behind a bad one are tried, too, until three have hung.
EMULATED_FAULTS='0-2 corrupts, 1-0 hangs, 1-2 hangs, 2-0 hangs' doctor 3
expect 'OK +peer_copies +cuda:0 to cuda:1 '
expect 'fail +peer_copies +cuda:0 to cuda:2: other data arrived than was sent'
expect 'fail +peer_copies +cuda:1 to cuda:0: the copy did not end within 1 s'
expect 'fail +peer_copies +cuda:1 to cuda:2: the copy did not end within 1 s'
expect 'warn +peer_copies +cuda:2 to cuda:1 was not tried'
expect '-> set NCCL_P2P_DISABLE=1'

# A GPU that is lost fails by itself.
printf 'GPU-00000000-0000-0000-0000-000000000002\n' >"$work/lost"
EMULATION_LOST_DEVICES=$work/lost doctor 3
expect 'fail +peer_copies +cuda:0 to cuda:2: '
expect 'OK +peer_copies +cuda:0 to cuda:1 '

# The log of a run on GPUs has the environment.
NCCL_DEBUG=WARN "$trainer" devices=cuda:0 model.name=linear data.name=synthetic steps=1 -o "$work/run" >"$work/out" 2>"$work/err" ||
  fail "train: $(cat "$work/err")"
grep -q 'environment: .*NCCL_DEBUG=WARN' "$work/err" || fail "no environment: $(cat "$work/err")"
