#!/usr/bin/env bash
# Two trainers that start together with devices: auto:1 never get one GPU, on emulated GPUs and a scripted NVML.
# Usage: idle_gpus_test.sh TRAINER SCRIPTED_NVML; SPIRE_TESTS=long lets them start 100 times, in place of 3
set -euo pipefail

trainer=$1 trials=3
[ "${SPIRE_TESTS:-}" != long ] || trials=100
work=$(mktemp -d)
trap 'jobs -p | xargs -r kill -9 2>/dev/null; rm -rf "$work"' EXIT
export EMULATED_GPUS=4 EMULATED_ORDER=reversed EMULATED_PCI=yes SPIRE_NVML=$2 SPIRE_SCRIPTED_NVML=$work/machine.json SPIRE_LOCKS=$work XDG_CACHE_HOME=$work
words=(model.name=mlp "model.hidden=[4]" data.name=synthetic "data.synthetic.shape=[4, 4, 1]" data.synthetic.samples=64 data.synthetic.test_samples=8
  batch_size=4 steps=1000000 eval.every_epochs=0 checkpoint.every_epochs=0 log.every_seconds=1000)

fail() {
  echo "idle_gpus_test: $*" >&2
  exit 1
}

# GPU 1 is busy, the others are idle. To the trainer it is cuda:2, as its order is another.
{
  echo '{"driver": "550.54.15", "gpus": ['
  for i in 0 1 2 3; do
    printf '%s{"name": "emulation", "uuid": "GPU-00000000-0000-0000-0000-00000000000%d", "pci": "00000000:E%d:00.0",' \
      "$([ $i = 0 ] || echo ,)" $i $i
    printf '"memory_mib": {"total": 16384, "used": 4}, "compute_percent": %d, "processes": [%s]}\n' \
      $((i == 1 ? 97 : 0)) "$([ $i = 1 ] && echo '{"pid": 4000000, "mib": 900}')"
  done
  echo ']}'
} >"$SPIRE_SCRIPTED_NVML"

# Prints the GPU that a run says it has, once it says so.
gpu_of() {
  until grep -qs '^length ' "$1"; do
    kill -0 "$2" 2>/dev/null || fail "a run ended: $(cat "$1")"
    sleep 0.05
  done
  grep -o 'GPU-[0-9a-f-]*' "$1" | sort -u
}

stop() {
  kill "$@"
  for run in "$@"; do wait "$run" || true; done
}

for ((trial = 1; trial <= trials; ++trial)); do
  runs=()
  for name in a b; do
    "$trainer" "${words[@]}" devices=auto:1 "output=$work/$trial$name" >"$work/$trial$name.out" 2>"$work/$trial$name.err" &
    runs+=($!)
  done
  a=$(gpu_of "$work/${trial}a.err" "${runs[0]}")
  b=$(gpu_of "$work/${trial}b.err" "${runs[1]}")
  [ "$(wc -w <<<"$a$b")" = 1 ] || fail "a run has not one GPU: '$a', '$b'"
  [ "$a" != "$b" ] || fail "trial $trial: both have $a"
  [[ "$a $b" != *1* ]] || fail "trial $trial: the busy GPU was chosen: $a $b"
  stop "${runs[@]}"
  rm -rf "$work/$trial"[ab]*
done

# A run that names a GPU of another run is told; one that finds none idle waits, and goes on when there is one.
"$trainer" "${words[@]}" devices=auto:3 "output=$work/all" >"$work/all.out" 2>"$work/all.err" &
all=$!
gpu_of "$work/all.err" $all >"$work/gpus"
[ "$(wc -l <"$work/gpus")" = 3 ] || fail "auto:3: $(cat "$work/all.err")"
"$trainer" "${words[@]}" devices=cuda:1 --dry-run 1 >"$work/out" 2>"$work/named.err" || fail "cuda:1: $(cat "$work/named.err")"
grep -q "warning: cuda:1 is also used by process $all (emulated_traine); both get slower" "$work/named.err" ||
  fail "no warning of a shared GPU: $(cat "$work/named.err")"
code=0
"$trainer" "${words[@]}" devices=auto:1 --dry-run 1 >"$work/out" 2>"$work/none.err" || code=$?
[ $code = 3 ] && grep -q 'error\[3\]: .*auto:1: 0 of 1 GPU idle, busy: cuda:0 (process '"$all"'.*cuda:2 (process 4000000 computes)' "$work/none.err" ||
  fail "none is idle: exit $code: $(cat "$work/none.err")"
"$trainer" "${words[@]}" devices=auto:1 timeouts.devices=10m --dry-run 1 >"$work/out" 2>"$work/wait.err" &
waits=$!
until grep -qs 'waits for 1 idle GPU (timeouts.devices: 600 s)' "$work/wait.err"; do
  kill -0 $waits 2>/dev/null || fail "it does not wait: $(cat "$work/wait.err")"
  sleep 0.05
done
stop $all
wait $waits || fail "the run that waited: exit $?: $(cat "$work/wait.err")"
# A sweep takes idle GPUs alone.
"$trainer" sweep "${words[@]/steps=1000000/steps=2}" seed=1,2,3 --devices auto:3 -o "$work/sweep" >"$work/sweep.out" 2>"$work/sweep.err" ||
  fail "sweep: exit $?: $(cat "$work/sweep.err")"
for log in "$work"/sweep/*.log; do
  grep -q 'GPU-[0-]*[023]' "$log" || fail "sweep: no GPU in $log"
  ! grep -q 'GPU-[0-]*1' "$log" || fail "sweep: the busy GPU was used: $(cat "$log")"
done

# A run that loses the GPU that it has chosen begins again with another idle one, to the same hash.
words=("${words[@]/steps=1000000/steps=60}" checkpoint.every_steps=4)
hash_of() { sed -n 's/^parameter hash *//p' "$1" | tail -n 1; }
"$trainer" "${words[@]}" devices=auto:1 "output=$work/whole" >"$work/whole.out" 2>"$work/whole.err" || fail "whole: exit $?"
EMULATION_LOST_DEVICES=$work/lost "$trainer" "${words[@]}" devices=auto:1 --max-restarts 1 "output=$work/again" \
  >"$work/again.out" 2>"$work/again.err" &
again=$!
gpu=$(gpu_of "$work/again.err" $again)
until ls "$work"/again/checkpoints/step_*.h5 >"$work/saved" 2>&1; do
  kill -0 $again || fail "again: ended before its first checkpoint: $(cat "$work/again.err")"
done
echo "$gpu" >"$work/lost"
wait $again || fail "again: exit $?: $(cat "$work/again.err")"
grep -q "($gpu\|, $gpu" <<<"$(grep 'is left out from here on$' "$work/again.err")" || fail "the lost GPU is not named: $(cat "$work/again.err")"
[ "$(grep -c '^length ' "$work/again.err")" = 2 ] || fail "it did not begin again: $(cat "$work/again.err")"
[ "$(hash_of "$work/again.out")" = "$(hash_of "$work/whole.out")" ] || fail "another hash after the loss of a GPU"
echo "no GPU was shared in $trials trials"
