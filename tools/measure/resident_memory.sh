#!/usr/bin/env bash
# The memory of whole runs of six models, against their plans.
set -euo pipefail

usage() {
  cat <<'TEXT'
Usage: tools/measure/resident_memory.sh [--trainer PATH] [--folder PATH] [--precision P] [--beside MIB] [MODEL...]

Trains each model (mlp cnn resnet20 resnet50 gpt gpt2; default all) two steps on synthetic data on the CPU, with a
checkpoint after each: without a snapshot, and with a snapshot and averaged weights. Each run evaluates. Prints planned
and resident memory in MiB, and ends with 1 if a run took more than MIB beside its plan. All take minutes and 7 GiB.
  --trainer PATH     default build/release/tools/trainer
  --folder PATH      where the runs go, one after another; default .cache/resident_memory
  --precision P      fp32 (default) or bf16
  --beside MIB       default 150
TEXT
}

trainer=build/release/tools/trainer folder=.cache/resident_memory precision=fp32 beside=150 models=()
while [ $# -gt 0 ]; do
  case $1 in
    --trainer | --folder | --precision | --beside)
      [ $# -ge 2 ] || { usage >&2; exit 2; }
      declare "${1#--}=$2"
      shift 2
      ;;
    -h | --help) usage; exit 0 ;;
    -*) usage >&2; exit 2 ;;
    *) models+=("$1"); shift ;;
  esac
done
[ ${#models[@]} -gt 0 ] || models=(mlp cnn resnet20 resnet50 gpt gpt2)

images="data.synthetic.kind=images data.augment.crop=0 data.augment.flip=false batch_size=64"
tokens="data.synthetic.kind=tokens data.synthetic.shape=[256] model.dropout=0"
words_of() {
  case $1 in
    mlp | cnn) echo "--config configs/fashion_mnist_$1.yaml $images data.synthetic.shape=[28,28,1]" ;;
    resnet20) echo "--config configs/cifar10_resnet20.yaml $images data.synthetic.shape=[32,32,3]" ;;
    resnet50) echo "--config configs/synthetic_resnet50.yaml" ;;
    gpt) echo "--config configs/gpt_char.yaml $tokens data.synthetic.classes=65" ;;
    gpt2) echo "--config configs/gpt2_124m.yaml $tokens data.synthetic.classes=50257 batch_size=2 memory.recompute=none" ;;
    *) echo "no model $1: mlp cnn resnet20 resnet50 gpt gpt2" >&2; return 2 ;;
  esac
}

# Prints a run's planned and resident MiB.
memory_of() {
  python3 - "$1" <<'PY'
import json, sys
summary = json.load(open(sys.argv[1]))
planned = sum(summary["planned_memory_bytes"].values())
print(planned >> 20, summary["peak_memory_bytes"]["host_rss"] >> 20)
PY
}

common="devices=cpu towers=2 tower_threads=1 steps=2 data.name=synthetic data.synthetic.samples=1024 data.synthetic.test_samples=64
  eval.samples=0 checkpoint.every_steps=1 checkpoint.every_epochs=0 schedule.warmup_steps=0 schedule.warmup_epochs=0"
status=0
mkdir -p "$folder"
printf '%-10s %-28s %8s %9s %7s\n' model run planned resident beside
for model in "${models[@]}"; do
  words=$(words_of "$model")
  for more in "checkpoint.snapshot=never" "checkpoint.snapshot=always ema.decay=0.9"; do
    # shellcheck disable=SC2086  # lists of words
    "$trainer" $words $common $more precision="$precision" output="$folder/run" --overwrite >"$folder/log" 2>&1 ||
      { cat "$folder/log" >&2; exit 1; }
    read -r planned resident < <(memory_of "$folder/run/summary.json")
    printf '%-10s %-28s %8d %9d %7d\n' "$model" "${more//checkpoint./}" "$planned" "$resident" $((resident - planned))
    [ $((resident - planned)) -le "$beside" ] || status=1
  done
  rm -rf "$folder/run"
done
exit $status
