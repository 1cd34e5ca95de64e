#!/usr/bin/env bash
# Which GPUs runs, evaluations and predictions take on an emulated server of eight, two of which others use.
# Usage: chosen_gpus_test.sh TRAINER SCRIPTED_NVML
set -euo pipefail

trainer=$(realpath "$1") nvml=$(realpath "$2")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export EMULATED_GPUS=8 EMULATED_PCI=yes SPIRE_NVML=$nvml SPIRE_SCRIPTED_NVML=$work/machine.json SPIRE_LOCKS=$work XDG_CACHE_HOME=$work
words=(model.name=mlp "model.hidden=[4]" data.name=synthetic "data.synthetic.shape=[4, 4, 1]" data.synthetic.samples=64 data.synthetic.test_samples=8
  batch_size=4 steps=6 eval.every_epochs=0 checkpoint.every_steps=3 log.every_seconds=1000)

fail() {
  echo "chosen_gpus_test: $*" >&2
  exit 1
}

# machine BUSY...: the scripted machine, where others compute on these GPUs.
machine() {
  local i busy
  {
    echo '{"driver": "550.54.15", "gpus": ['
    for i in 0 1 2 3 4 5 6 7; do
      busy=$([[ " $* " != *" $i "* ]] || echo yes)
      printf '%s{"name": "emulation", "uuid": "GPU-00000000-0000-0000-0000-00000000000%d", "pci": "00000000:E%d:00.0",' \
        "$([ $i = 0 ] || echo ,)" $i $i
      printf '"memory_mib": {"total": 16384, "used": %d}, "compute_percent": %d, "processes": [%s]}\n' \
        "${busy:+9}000" "${busy:+9}0" "${busy:+{\"pid\": 400000$i, \"mib\": 8900\}}"
    done
    echo ']}'
  } >"$work/machine.new"
  mv "$work/machine.new" "$work/machine.json"
}

# run CODE TEXT WORD...: runs trainer, which ends with this code and prints this text on stderr.
run() {
  local expected=$1 text=$2 code=0
  shift 2
  "$trainer" "$@" >"$work/out" 2>"$work/err" || code=$?
  [ $code = "$expected" ] || fail "$*: exit $code, not $expected: $(tail -n 3 "$work/err")"
  [ -z "$text" ] || grep -qE -- "$text" "$work/err" || fail "$*: no '$text' in: $(cat "$work/err")"
}

machine 0 2
run 0 'chosen  *3 of 8 GPUs, as the run has 3 towers: cuda:1 .*cuda:3 .*cuda:4 .*; towers=8 uses all' "${words[@]}" towers=3 output="$work/run"
run 0 '2 of 8 GPUs, as the run has 2 towers: cuda:1 ' "${words[@]}" devices=cuda towers=2 --dry-run 1
run 2 '3 devices but only 2 towers' "${words[@]}" "devices=[0,1,2]" towers=2 --dry-run 1
run 0 '3 of 8 GPUs, as the run has 3 towers: cuda:1' --resume "$work/run" devices=auto steps=9
! grep -q 'uses all' "$work/err" || fail "a resumed run cannot change its towers"
run 0 '' eval --checkpoint "$work/run" devices=auto
run 0 '' lr-find "${words[@]}" towers=2 --steps 12
run 0 '' audit "$work/run" --random 1
# Eight towers need the busy GPUs, too.
run 0 'warning: cuda:2 is also used by process 4000002 with 8.7 GiB \(7.2 GiB of 16.0 GiB are free\); both get slower' "${words[@]}" --dry-run 1
run 0 'warning: cuda:0 is also used by process 4000000' "${words[@]}" devices=cuda:0 --dry-run 1
run 0 'cuda:1 in the place of cuda:12, which is missing' "${words[@]}" devices=cuda:12 on_missing=any --dry-run 1
run 3 'with on_missing: any the run takes another GPU$' "${words[@]}" devices=cuda:12 on_missing=fewer --dry-run 1

# Predictions take one idle GPU, claim it, and give the same outputs on each.
predict=(predict --checkpoint "$work/run")
run 0 '^computes on cuda:1 \(emulation, 16.0 GiB' "${predict[@]}"
cp "$work/out" "$work/predicted"
for device in cuda cuda:3 auto:1 1xcuda; do
  run 0 '' "${predict[@]}" --device $device
  cmp "$work/out" "$work/predicted" || fail "predictions on $device differ"
done
run 0 'computes on cuda:1 ' report "$work/run" --evaluate --to "$work/page.html"
run 0 'is also used by process 4000002 .* share its memory; auto:1 takes 1 idle GPU$' "${predict[@]}" --device cuda:2
run 3 'there is no such device' "${predict[@]}" --device cuda:12
run 0 'the CPU \(on_missing: cpu\), because none of the named GPUs is there' "${predict[@]}" --device cuda:12 on_missing=cpu
run 0 '' "${predict[@]}" --device cuda:12 on_missing=any
run 6 'are left of the 1.0 KiB that memory.limit allows' "${predict[@]}" memory.limit=1KiB
run 0 'is also used by process 4000002' "${predict[@]}" devices=cuda:2
run 2 'predictions are computed on one device; name one' "${predict[@]}" "devices=[cuda:1,cuda:2]"
machine 0 1 2 3 4 5 6 7
run 3 'auto:1: 0 of 1 GPU idle' "${predict[@]}" --device auto:1
run 0 'cuda:0 is also used by process 4000000 .* share its memory$' "${predict[@]}" --device auto:1 on_missing=any

# fp16 has no form on CPUs.
machine 0 2
run 0 'precision: fp32 in the place of fp16' "${words[@]}" devices=cuda:12 on_missing=cpu precision=fp16 output="$work/fallback"
run 0 '' "${words[@]}" devices=auto:1 precision=fp16 output="$work/half"
run 0 'computes in fp32, as fp16, the precision of the training run, is for GPUs only' predict --checkpoint "$work/half" --device cpu
run 0 '' predict --checkpoint "$work/half" --device cpu precision=fp32
! grep -q 'is for GPUs only' "$work/err" || fail "precision=fp32 is not obeyed"
echo "devices are as expected"
