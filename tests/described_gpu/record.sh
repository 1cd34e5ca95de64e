#!/usr/bin/env bash
# Writes down what the shipped configs ask a GPU's libraries for, by running them on GPUs that are emulated: trainer plan
# compiles every kernel of a run and computes nothing. With SPIRE_ALL_PLANS or SPIRE_TESTS=long it runs the op tests, too.
# Usage: record.sh EMULATED_TRAINER EMULATION_TEST CONFIGS OUTPUT
set -euo pipefail
trainer=$1 tests=$2 configs=$3 output=$4

export SPIRE_SHAPES_FILE=$output.part
folder=$(mktemp -d)
trap 'rm -rf "$folder" "$SPIRE_SHAPES_FILE"' EXIT

# Data and weights that may not be here are synthetic, of the same shape; made data knows no augmentation.
stored() {
  local config=$1
  shift
  sed '/^  augment:/d' "$configs/$config.yaml" > "$folder/$config.yaml"
  plan "$folder/$config.yaml" data.name=synthetic "$@"
}
plan() {
  local config=$1
  shift
  "$trainer" plan --config "$config" devices=cuda:0 "$@" > "$folder/log" 2>&1 || { cat "$folder/log" >&2; exit 1; }
}

: > "$SPIRE_SHAPES_FILE"
for config in "$configs"/*.yaml; do
  name=$(basename "$config" .yaml)
  case $name in
    cifar10_*) stored "$name" "data.synthetic.shape=[32, 32, 3]" ;;
    fashion_mnist_shards) stored "$name" "data.synthetic.shape=[28, 28, 3]" ;;
    imagenet_*) stored "$name" "data.synthetic.shape=[224, 224, 3]" data.synthetic.classes=1000 ;;
    gpt2_*) stored "$name" data.synthetic.kind=tokens "data.synthetic.shape=[1024]" data.synthetic.classes=50257 ;;
    finetune_resnet | finetune_lora) stored "$name" "data.synthetic.shape=[28, 28, 1]" data.synthetic.classes=5 init.from=none ;;
    finetune_gpt2) stored "$name" data.synthetic.kind=tokens "data.synthetic.shape=[256]" data.synthetic.classes=50257 init.from=none ;;
    gpt_char) stored "$name" data.synthetic.kind=tokens "data.synthetic.shape=[128]" data.synthetic.classes=65 ;;
    llama_char) stored "$name" data.synthetic.kind=tokens "data.synthetic.shape=[128]" data.synthetic.classes=65 ;;
    llama_verses) stored "$name" data.synthetic.kind=tokens "data.synthetic.shape=[192]" data.synthetic.classes=65 ;;
    fashion_mnist_distill) plan "$configs/$name.yaml" distill.from=none ;;
    houses_*) stored "$name" data.synthetic.kind=features "data.synthetic.shape=[12]" ;;
    fashion_masks_*) stored "$name" "data.synthetic.shape=[48, 48, 3]" "eval.metrics=[]" ;;
    *) plan "$config" ;;
  esac
done
if [[ -n ${SPIRE_ALL_PLANS:-} || ${SPIRE_TESTS:-} = long ]]; then
  "$tests" --gtest_filter='Everywhere/Conv*cuda*:Everywhere/Attention*cuda*' > "$folder/log" 2>&1 ||
    { tail -50 "$folder/log" >&2; exit 1; }
fi
mv "$SPIRE_SHAPES_FILE" "$output"
