#!/usr/bin/env bash
# The whole program on emulated GPUs: trains, stops, goes on elsewhere, predicts, finds too little memory. One hash on any of them.
# Usage: trainer_test.sh TRAINER
set -euo pipefail

trainer=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Timings of emulated engines are random, and their bits differ: runs are equal by the choice that is kept here.
export XDG_CACHE_HOME=$work/cache
export SPIRE_LOCKS=$work
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

# Two processes with a GPU each: NCCL is emulated, too.
one=$(run alone devices=cuda:0)
for strategy in parameter_device mirrored sharded; do
  same "two processes, $strategy" "$one" "$(run "ranks_$strategy" --processes 2 devices=cuda strategy=$strategy)"
done
# A timeline of both GPUs: each lane has its parts, and the kernels of forward and backward by name.
same "with a timeline" "$one" "$(run traced 'devices=[cuda:0, cuda:1]' --timeline "$work/trace.json" --timeline-steps 3:4)"
python3 - "$work/trace.json" <<'PYTHON' || fail "the timeline lacks spans of a GPU"
import json, sys
events = json.load(open(sys.argv[1]))["traceEvents"]
lanes = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name" and "cuda:" in e["args"]["name"] and "exchange" not in e["args"]["name"]}
assert len(lanes) == 2, lanes
for tid in lanes:
    spans = [e for e in events if e["ph"] == "X" and e["tid"] == tid]
    assert {e["args"]["step"] for e in spans} == {3, 4}, spans
    names = {e["name"] for e in spans}
    assert {"forward", "backward"} <= names and any("conv" in name for name in names), names
    assert all(e["dur"] >= 0 for e in spans)
PYTHON
code=0
"$trainer" --config "$work/run.yaml" --processes 3 devices=cuda "output=$work/three" 2>"$work/three.err" || code=$?
[ $code = 3 ] && grep -q 'start at most 2 there' "$work/three.err" || fail "three processes on two GPUs: exit $code"

# Unequal parts of one GPU: each device's plan is held against its own limit.
same "unequal devices on one GPU" "$one" "$(run unequal 'devices=[{cuda:0: 1GiB}, {cuda:0: 64MiB}]')"
code=0
"$trainer" --config "$work/run.yaml" 'devices=[cuda:0:1GiB, cuda:0:10KiB]' "output=$work/small" 2>"$work/small.err" || code=$?
[ $code = 6 ] && grep -q '^error\[6\]: cuda:0: .*; its own limit, cuda:0:10KiB in devices, allows 10.0 KiB, ' "$work/small.err" ||
  fail "a device with too low a limit: exit $code: $(tail -n 3 "$work/small.err")"

# GPUs that do not reach each other's memory: NCCL joins them inside a process, too.
same "no peer access" "$one" "$(EMULATED_GPUS=3 EMULATED_PEERS=none run apart devices=cuda strategy=sharded)"
grep -q '^exchange  *NCCL, as cuda:0 and cuda:1 have no peer access$' "$work/apart.err" || fail "the start block does not say how GPUs meet: $(cat "$work/apart.err")"
same "a pair and two processes' rest" "$one" "$(EMULATED_GPUS=4 EMULATED_PEERS=0,1 run apart_ranks --processes 2 devices=cuda)"
same "NCCL by choice" "$one" "$(run chosen devices=cuda cuda.peer=nccl strategy=mirrored)"
same "NCCL by its variable" "$one" "$(NCCL_P2P_DISABLE=1 run by_variable devices=cuda)"
grep -q '^exchange  *NCCL, as cuda:0 and cuda:1 have no peer access (NCCL_P2P_DISABLE)$' "$work/by_variable.err" || fail "NCCL_P2P_DISABLE=1 is not obeyed: $(cat "$work/by_variable.err")"
code=0
NCCL_P2P_DISABLE=1 "$trainer" --config "$work/run.yaml" devices=cuda cuda.peer=direct "output=$work/direct" 2>"$work/direct.err" || code=$?
[ $code = 2 ] && grep -q 'cuda.peer: direct, but NCCL_P2P_DISABLE is set' "$work/direct.err" || fail "direct against NCCL_P2P_DISABLE: exit $code"
EMULATED_PEERS=none "$trainer" plan --config "$work/run.yaml" devices=cuda >"$work/apart.plan" || fail "plan without peer access: exit $?"
code=0
EMULATED_PEERS=none "$trainer" --config "$work/run.yaml" devices=cuda cuda.peer=direct "output=$work/direct" 2>"$work/direct.err" || code=$?
[ $code = 3 ] && grep -q 'cuda.peer: direct, but cuda:0 and cuda:1 cannot read' "$work/direct.err" || fail "direct without peer access: exit $code"

# One of them killed while the other waits for its GPU: the run ends, by name, and goes on to the same hash.
"$trainer" --config "$work/run.yaml" --processes 2 devices=cuda steps=5000 "output=$work/killed" 2>"$work/killed.err" &
supervisor=$!
until ls "$work"/killed/checkpoints/step_*.h5 >"$work/saved" 2>&1; do
  kill -0 $supervisor || fail "killed: ended before its first checkpoint: $(tail -n 3 "$work/killed.err")"
done
kill -9 "$(pgrep -P $supervisor | tail -n 1)"
code=0
wait $supervisor || code=$?
[ $code = 8 ] && grep -q 'rank 1 .* ended without an error message' "$work/killed.err" || fail "killed: exit $code: $(tail -n 3 "$work/killed.err")"
pgrep -f "output=$work/killed" && fail "killed: processes are left"
newest=$(find "$work/killed/checkpoints" -name 'step_*.h5' | sort | tail -n 1 | tr -dc '0-9\n' | sed 's/.*\(.\{8\}\)$/\1/')
steps=$((10#$newest + 4))
same "after a kill" "$(run whole devices=cuda:0 steps=$steps)" "$(run killed --processes 2 devices=cuda steps=$steps --resume auto)"

# A GPU is lost after the first checkpoint: with --max-restarts the run goes on without it, to the same hash.
lose() {  # name uuid word ...
  local name=$1 uuid=$2
  shift 2
  EMULATION_LOST_DEVICES=$work/$name.lost "$trainer" --config "$work/run.yaml" "$@" steps=24 "output=$work/$name" \
    >"$work/$name.out" 2>"$work/$name.err" &
  local running=$! code=0
  until ls "$work/$name"/checkpoints/step_*.h5 >"$work/saved" 2>&1; do
    kill -0 $running || fail "$name: ended before its first checkpoint: $(tail -n 3 "$work/$name.err")"
  done
  echo "$uuid" >"$work/$name.lost"
  wait $running || code=$?
  sed -n 's/^parameter hash *//p' "$work/$name.out" | tail -n 1  # that which failed tells how far it came, too
  return $code
}
gpu=GPU-00000000-0000-0000-0000-00000000000
whole=$(run twenty_four devices=cuda:0 steps=24)
# shellcheck disable=SC2054
loses=(one_of_all 1 devices=cuda one_of_a_list 0 'devices=[cuda:0, cuda:1]' one_of_the_ranks 1 'devices=cuda --processes=2 elastic=true')
for ((i = 0; i < ${#loses[@]}; i += 3)); do
  name=lost_${loses[i]} index=${loses[i + 1]} words=("${loses[i + 2]}")
  [[ ${words[0]} != *--* ]] || read -ra words <<<"${words[0]}"
  hash=$(lose "$name" "$gpu$index" --max-restarts 1 "${words[@]}") || fail "$name: exit $?: $(tail -n 3 "$work/$name.err")"
  same "$name" "$whole" "$hash"
  for line in "error\[8\]: .*cuda:[01] (emulation, $gpu$index) is lost: cuda[A-Za-z]* .*: cudaErrorECCUncorrectable" \
    "^cuda:$index (emulation, $gpu$index) fails and is left out from here on$" '^restart 1 of 1: .* on from the newest checkpoint$'; do
    grep -q "$line" "$work/$name.err" || fail "$name: '$line' is missing: $(cat "$work/$name.err")"
  done
done
code=0
lose lost_rank "${gpu}0" --max-restarts 1 --processes 2 devices=cuda >"$work/lost_rank.hash" || code=$?
[ $code = 8 ] && grep -q '^error\[8\]: 1 GPU is left for 2 processes, and each needs one of its own; elastic: true goes on with fewer' "$work/lost_rank.err" ||
  fail "lost_rank: exit $code: $(tail -n 3 "$work/lost_rank.err")"
code=0
lose lost_alone "${gpu}0" devices=cuda:0 >"$work/lost_alone.hash" || code=$?
[ $code = 8 ] && tail -n 1 "$work/lost_alone.err" | grep -q "^error\[8\]: .*cuda:0 (emulation, ${gpu}0) is lost" ||
  fail "lost_alone: exit $code: $(tail -n 3 "$work/lost_alone.err")"
code=0
EMULATION_LOST_DEVICES=$work/lost_alone.lost "$trainer" devices --probe >"$work/probe.out" 2>"$work/probe.err" || code=$?
[ $code = 8 ] && grep -q '^cuda:0  fails: ' "$work/probe.out" && grep -q '^cuda:1  works$' "$work/probe.out" ||
  fail "probe: exit $code: $(cat "$work/probe.out")"
"$trainer" devices --probe >"$work/probe.out" || fail "probe of good GPUs: exit $?"

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
grep -q "$work/tuning: it does not begin with .*; engines are measured again" "$work/damaged.err" || fail "a damaged cache is not told"
same "after a damaged cache" "$kept" "$(run mended devices=cuda:1 "cuda.autotune_cache=$work/tuning")"
[ -n "$(run unkept devices=cuda:0 "cuda.autotune_cache=$work/tuning/in_a_file")" ] || fail "no hash where nothing can be kept"
grep -q 'cannot be kept for the next run' "$work/unkept.err" || fail "a cache that cannot be written is not told"

for device in cuda:1 cpu; do
  "$trainer" predict --checkpoint "$work/moved" --device $device --count 5 --quiet >"$work/$device.csv" ||
    fail "predict on $device: exit $?"
  [ "$(wc -l <"$work/$device.csv")" = 6 ] || fail "predict on $device: $(cat "$work/$device.csv")"
done
# The likeliest class, the same on both.
diff <(cut -d, -f1,2 "$work/cuda:1.csv") <(cut -d, -f1,2 "$work/cpu.csv") || fail "a GPU predicts what a CPU does not"

# refused NAME WORD...: what a run says that finds too little memory.
refused() {
  local name=$1 code=0
  shift
  "$trainer" --config "$work/run.yaml" "$@" "output=$work/$name" >"$work/$name.out" 2>"$work/$name.err" || code=$?
  [ $code = 6 ] || fail "$name: exit $code, not 6: $(tail -n 3 "$work/$name.err")"
  [ ! -e "$work/$name" ] || fail "$name: made a folder"
  grep -Eq '^activations  +[0-9.]+ [KM]iB +0 B$' "$work/$name.err" || fail "$name: no table: $(cat "$work/$name.err")"
  tail -n 1 "$work/$name.err"
}

# The remedy that a refused run names is one: with it the run has the same hash.
last=$(refused tight devices=cuda:0 memory.limit=20KiB)
[[ "$last" =~ ^'error[6]: cuda:0: '.*'; memory.limit allows 20.0 KiB, of which 0 B is in use; '.*'; '(memory.limit: [0-9.]+[MG]iB)' would be enough as it is, and the device has that much'$ ]] ||
  fail "20 KiB: $last"
enough=${BASH_REMATCH[1]/: /=}
same "$enough" "$(run free devices=cuda:0)" "$(run enough devices=cuda:0 "$enough")"
last=$(refused shared 'devices=[cuda:0, cuda:0]' memory.limit=20KiB)
[[ "$last" = *'allows 10.0 KiB for each of 2 devices, of which 0 B is in use; '* ]] || fail "two on one of 20 KiB: $last"
"$trainer" plan --config "$work/run.yaml" devices=cuda:1 memory.limit=0.25 >"$work/plan.out" || fail "plan: exit $?"
grep -Eq 'cuda:1 .* 4\.0 GiB .* yes$' "$work/plan.out" || fail "a quarter of 16 GiB: $(cat "$work/plan.out")"
for kind in weights gradients optimizer activations workspace; do
  [ "$(grep -o "\"$kind\": [0-9]*" "$work/enough/summary.json" | sort -u | wc -l)" = 1 ] || fail "$kind is not as planned"
done

code=0
"$trainer" --config "$work/run.yaml" devices=cuda:7 "output=$work/none" 2>"$work/none.err" || code=$?
[ $code = 3 ] && grep -q 'cuda:7: there is no such device; this machine has cuda:0' "$work/none.err" || fail "cuda:7: exit $code"
echo "one hash on all devices, in every precision"
