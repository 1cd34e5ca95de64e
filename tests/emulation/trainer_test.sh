#!/usr/bin/env bash
# The whole program on emulated GPUs: trains, stops, goes on elsewhere, predicts. One hash on any of them.
# Usage: trainer_test.sh TRAINER
set -euo pipefail

trainer=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Emulated engines are as quick as a lot has it, and differ in their bits: runs are equal by what is kept here.
export XDG_CACHE_HOME=$work/cache
cache=$work/cache/spire/tuning.txt
cat >"$work/run.yaml" <<'TEXT'
model: {name: cnn, channels: [4, 8], hidden: [16], dropout: 0.1, normalization: batch_norm}
data:
  name: synthetic
  synthetic: {shape: [12, 12, 3], classes: 4, samples: 90, test_samples: 20}
batch_size: 4
towers: 4
optimizer: {name: adamw, lr: 0.002, clip_norm: 1.0}
ema: {decay: 0.9}
steps: 8
checkpoint: {every_steps: 4}
log: {every_steps: 1}
TEXT

fail() {
  echo "trainer_test: $*" >&2
  exit 1
}

# run NAME WORD...: trains into folder NAME, prints the parameter hash.
run() {
  local name=$1
  shift
  "$trainer" --config "$work/run.yaml" "$@" "output=$work/$name" >"$work/$name.out" 2>"$work/$name.err" ||
    fail "$name: exit $?: $(tail -n 3 "$work/$name.err")"
  sed -n 's/^parameter hash *//p' "$work/$name.out"
}

same() { [ "$2" = "$3" ] || fail "$1: hash $3, expected $2"; }

for precision in fp32 bf16 fp16; do
  one=$(run "one_$precision" devices=cuda:0 precision=$precision)
  [ -n "$one" ] || fail "$precision: no hash"
  same "$precision on two" "$one" "$(run "two_$precision" 'devices=[cuda:0, cuda:1]' strategy=sharded precision=$precision)"
  same "$precision on one twice" "$one" "$(run "twice_$precision" 'devices=[cuda:1, cuda:1]' cuda.graphs=false precision=$precision)"
done

grep -q '"train/loss_scale":65536' "$work/one_fp16/metrics.jsonl" || fail "fp16: no loss scale in metrics.jsonl"
grep -q 'GPUs of this kind' "$work/one_fp32.err" || fail "the start block does not say what is repeatable"

half=$(run moved devices=cuda:1 steps=4)
[ -n "$half" ] || fail "no hash after four steps"
straight=$(run straight devices=cuda:0)
rm "$cache"  # the checkpoint has the choices, too
same "gone on with on other devices" "$straight" "$(run moved 'devices=[cuda:0, cuda:1]' --resume auto)"
[ ! -e "$cache" ] || fail "a run that was gone on with measured again"

plain=$(run plain devices=cuda:0 cuda.autotune=false)
same "without autotuning" "$plain" "$(run plain_two 'devices=[cuda:0, cuda:1]' cuda.autotune=false)"
[ ! -e "$cache" ] || fail "autotune: false keeps choices"
echo "not ours" >"$work/tuning"
kept=$(run damaged devices=cuda:0 "cuda.autotune_cache=$work/tuning")
grep -q "$work/tuning: it does not begin with .*; engines are measured anew" "$work/damaged.err" || fail "a damaged cache is not told"
same "after a damaged cache" "$kept" "$(run mended devices=cuda:1 "cuda.autotune_cache=$work/tuning")"
[ -n "$(run unkept devices=cuda:0 "cuda.autotune_cache=$work/tuning/in_a_file")" ] || fail "no hash where nothing can be kept"
grep -q 'the next run will not know' "$work/unkept.err" || fail "a cache that cannot be written is not told"

for device in cuda:1 cpu; do
  "$trainer" predict --checkpoint "$work/moved" --device $device --count 5 --quiet >"$work/$device.csv" ||
    fail "predict on $device: exit $?"
  [ "$(wc -l <"$work/$device.csv")" = 6 ] || fail "predict on $device: $(cat "$work/$device.csv")"
done
# The likeliest class, the same on both.
diff <(cut -d, -f1,2 "$work/cuda:1.csv") <(cut -d, -f1,2 "$work/cpu.csv") || fail "a GPU predicts what a CPU does not"

code=0
"$trainer" --config "$work/run.yaml" devices=cuda:7 "output=$work/none" 2>"$work/none.err" || code=$?
[ $code = 3 ] && grep -q 'cuda:7: this machine has only cuda:0' "$work/none.err" || fail "cuda:7: exit $code"
echo "one hash on all devices, in every precision"
