#!/usr/bin/env bash
# Every model on emulated GPUs: it trains what it trains on a CPU, to rounding, and one hash on one GPU and on two.
# Usage: models_test.sh TRAINER MODEL WORD...    (config words of the model)
set -euo pipefail

trainer=$1 model=$2
shift 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XDG_CACHE_HOME=$work/cache  # emulated engines differ in their bits: runs keep to one choice
export SPIRE_LOCKS=$work
cat >"$work/run.yaml" <<'TEXT'
data: {name: synthetic, synthetic: {shape: [16, 16, 3], classes: 4, samples: 24, test_samples: 4}}
batch_size: 2
towers: 2
steps: 3
ema: {decay: 0.9}
eval: {every_epochs: 0}
checkpoint: {every_epochs: 0}
log: {every_steps: 1}
TEXT

fail() {
  echo "models_test: $model: $*" >&2
  exit 1
}

# run NAME DEVICES WORD...: leaves $work/NAME.loss and $work/NAME.hash.
run() {
  local name=$1 devices=$2
  shift 2
  "$trainer" --config "$work/run.yaml" "model.name=$model" "devices=$devices" "$@" "output=$work/$name" \
    >"$work/$name.out" 2>"$work/$name.err" || fail "on $devices: exit $?: $(tail -n 3 "$work/$name.err")"
  sed -n 's/^parameter hash *//p' "$work/$name.out" >"$work/$name.hash"
  grep -o '"train/loss":[^,]*' "$work/$name/metrics.jsonl" | tail -n 1 | cut -d: -f2 >"$work/$name.loss"
}

run cpu cpu "$@"
run one cuda:0 "$@"
run two '[cuda:0, cuda:1]' "$@"
[ -s "$work/one.hash" ] || fail "no hash"
cmp -s "$work/one.hash" "$work/two.hash" || fail "hash $(cat "$work/two.hash") on two GPUs, $(cat "$work/one.hash") on one"
awk -v cpu="$(cat "$work/cpu.loss")" -v gpu="$(cat "$work/one.loss")" \
  'BEGIN { apart = cpu - gpu; if (apart < 0) apart = -apart; exit !(cpu > 0 && apart <= 1e-4 * cpu) }' ||
  fail "loss $(cat "$work/one.loss") on a GPU, $(cat "$work/cpu.loss") on a CPU"
echo "$model: loss $(cat "$work/one.loss"), hash $(cat "$work/one.hash")"
