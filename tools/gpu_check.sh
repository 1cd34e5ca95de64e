#!/usr/bin/env bash
# What Spire does on this machine's GPU: what works, and how quickly. tools/gpu_check.sh --help says how.
set -uo pipefail
export LC_ALL=C

usage() {
  cat <<'TEXT'
Usage: tools/gpu_check.sh [--build DIR] [--only PARTS] [--minutes N] [--gpu N] [--python PATH] [--log DIR] [--dry-run]

Runs each part on one GPU, prints a line a step (PASS, FAIL or SKIP, seconds, figure), and keeps all output in a folder;
gpu_report.md there is the same as a table in Markdown, whole up to the last step if the machine goes away.
Under a step that failed a line says where to look. Such a step, or one that takes too long, does not stop the others; but a driver or
library that no run can do with does, before all else, with its remedy. Data are made up; nothing is downloaded.
  --build DIR      a build folder (default: the bundle that this script lies in, else build/release)
  --only PARTS     parts joined by commas, of: bits timings tests compile sanitizers precisions memory
                     bits        200 steps twice, on one and on two logical devices, with CUDA graphs and without, one step at a
                                 time, and on two GPUs also in two processes: one hash; the same of a small GPT, of fp16 and of batch_norm: sync
                     timings     ResNet-20, ResNet-50 and GPT-2 124M, beside PyTorch (eager, channels_last, autocast)
                     tests       the tests on GPUs: devices, ops, sums, training
                     compile     the same models by torch.compile
                     sanitizers  compute-sanitizer's memcheck, racecheck and initcheck on some ops and one training step
                     precisions  fp32, TF32, bf16, fp16 train
                     memory      a run that is too large ends with exit code 6
  --minutes N      for everything (default 12); what is left undone then is skipped, in the order of --only's list
  --gpu N          its number (default 0)
  --python PATH    a Python with PyTorch (default python3; without PyTorch its steps are skipped)
  --log DIR        a new folder (default runs/gpu_check-N)
  --dry-run        prints the commands and their time limits, and runs nothing
Exit code: 0 all passed, 1 some failed, 2 wrong usage or no programs, 3 no GPU here.
TEXT
}

build='' only=bits,timings,tests,compile,sanitizers,precisions,memory minutes=12 gpu=0 python=python3 log='' dry=false
while [ $# -gt 0 ]; do
  case $1 in
    --build | --only | --minutes | --gpu | --python | --log)
      [ $# -ge 2 ] || { usage >&2; exit 2; }
      declare "${1#--}=$2"
      shift 2
      ;;
    --dry-run) dry=true; shift ;;
    -h | --help) usage; exit 0 ;;
    *) usage >&2; exit 2 ;;
  esac
done
[[ $minutes =~ ^[0-9]+(\.[0-9]+)?$ && $gpu =~ ^[0-9]+$ ]] || { usage >&2; exit 2; }
for part in ${only//,/ }; do
  [[ $part =~ ^(bits|timings|tests|compile|sanitizers|precisions|memory)$ ]] || { usage >&2; exit 2; }
done

here=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")" && pwd)
bin=''
if [ -z "$build" ] && [ -x "$here/../bin/trainer" ]; then
  bin=$(cd "$here/../bin" && pwd)
fi
build=${build:-$(dirname "$here")/build/release}
program() {  # name -> where it is
  if [ -n "$bin" ]; then
    echo "$bin/$1"
  elif [ "$1" = trainer ]; then
    echo "$build/tools/trainer"
  else
    echo "$build/tests/${1%_test}/$1"
  fi
}
trainer=$(program trainer)
peer=$here/measure/pytorch_gpu.py

if ! $dry; then
  [ -x "$trainer" ] || { echo "gpu_check: no $trainer here; name a build by --build" >&2; exit 2; }
  found=$("$trainer" devices) || { echo "gpu_check: trainer devices failed" >&2; exit 2; }
  if ! name=$(grep "^cuda:$gpu " <<<"$found"); then
    echo "gpu_check: no GPU cuda:$gpu here: $(sed -n 's/^cuda  *//p' <<<"$found")" >&2
    exit 3
  fi
  if [ -z "$log" ]; then
    number=1
    while [ -e "runs/gpu_check-$number" ]; do number=$((number + 1)); done
    log=runs/gpu_check-$number
  fi
  [ ! -e "$log" ] || { echo "gpu_check: $log is there already" >&2; exit 2; }
  mkdir -p "$log/runs"
  log=$(cd "$log" && pwd)
  export XDG_CACHE_HOME=$log/cache  # runs share which engines are the fastest; the first to meet a convolution measures
  {
    date -u
    echo "$name"
    "$trainer" version --verbose
    nvidia-smi
    lscpu
  } >"$log/machine.txt" 2>&1
  {
    printf '### %s, %s\n\n`tools/gpu_check.sh --only %s --minutes %s`; %s; %s\n\n' "$(sed 's/^cuda:[0-9]*  *//' <<<"$name")" "$(date -u +%F)" \
      "$only" "$minutes" "$("$trainer" version | head -n 1)" "$(sed -n 's/^with  *//p' <<<"$found")"
    printf '| step | | seconds | figure |\n|---|---|---|---|\n'
  } >"$log/gpu_report.md"
else
  name='' log=${log:-LOG}
fi
deadline=$((SECONDS + $(awk "BEGIN { printf \"%d\", 60 * $minutes }"))) failed=0

# --- one step ---------------------------------------------------------------------------------------------------------

hint=''  # where to look when a step of the part fails
row() {  # verdict seconds name figure
  {
    printf '%-4s %6s  %-34s %s\n' "$@"
    [ "$1" != FAIL ] || [ -z "$hint" ] || printf '%13slook at: %s\n' '' "$hint"
  } | tee -a "$log/table.txt"
  printf '| %s | %s | %s | %s |\n' "$3" "$1" "$2" "${4//|/\\|}" >>"$log/gpu_report.md"
  [ "$1" != FAIL ] || failed=1
}

stamp() { while IFS= read -r line; do printf '%s %s\n' "$EPOCHREALTIME" "$line"; done; }

# Runs a command for `limit` seconds at most, or for what is left. Sets code, took, and started; output in $out, errors in
# $err, each of their lines behind the time. False where there is nothing to judge: a dry run, or no time.
code=0 took=0 started=0 out='' err=''
run() {  # name limit command ...
  local step=$1 limit=$2 left=$((deadline - SECONDS))
  shift 2
  out=$log/${step// /_}.out err=$log/${step// /_}.err
  if $dry; then
    printf '%s, %s s:\n ' "$step" "$limit"
    printf ' %q' "$@"
    printf '\n'
    return 1
  fi
  if [ "$left" -lt 5 ]; then
    row SKIP 0 "$step" "no time left"
    return 1
  fi
  started=$EPOCHREALTIME
  {
    timeout --kill-after=5 "$((left < limit ? left : limit))" "$@" >"$out"
    code=$?
  } 2> >(stamp >"$err")
  wait $! 2>/dev/null
  took=$(awk "BEGIN { printf \"%.1f\", $EPOCHREALTIME - $started }")
  if [ "$code" = 124 ] || [ "$code" = 137 ]; then
    if [ "$left" -ge "$limit" ]; then
      row FAIL "$took" "$step" "took longer than $limit s ($err)"
    else
      row SKIP "$took" "$step" "no time left"
    fi
    return 1
  fi
}

failure() {  # name: the end of what it said
  row FAIL "$took" "$1" "exit $code: $(tail -n 1 "$err" | cut -d' ' -f2- | cut -c1-160) ($err)"
}

wants() { [[ ,$only, == *,$1,* ]]; }

# --- training runs ----------------------------------------------------------------------------------------------------

quiet=(eval.every_epochs=0 checkpoint.every_epochs=0 log.every_steps=20 seed=7)
images() { echo "data={name: synthetic, synthetic: {kind: images, shape: [$1, $1, 3], classes: $2, samples: 8192, test_samples: 64}}"; }
resnet20=('model={name: resnet, depth: 20}' "$(images 32 10)" optimizer.lr=0.05)
model_words() {  # model -> words
  case $1 in
    resnet20) words=("${resnet20[@]}" data.workers=4) ;;
    resnet50) words=('model={name: resnet, variant: imagenet, depth: 50}' "$(images 224 1000)" optimizer.lr=0.05 data.workers=8) ;;
    gpt2) words=('model={name: gpt, size: gpt2, dropout: 0}' 'optimizer={name: adamw, lr: 3.0e-4, weight_decay: 0.1}'
      'data={name: synthetic, synthetic: {kind: tokens, shape: [1024], classes: 50257, samples: 4096, test_samples: 16}}') ;;
    llama) words=('model={name: llama, blocks: 12, width: 768, heads: 12, mlp_width: 2048, tied_head: true}'
      'optimizer={name: adamw, lr: 3.0e-4, weight_decay: 0.1}'
      'data={name: synthetic, synthetic: {kind: tokens, shape: [1024], classes: 32000, samples: 4096, test_samples: 16}}') ;;
  esac
}

train() {  # name limit words ...
  local step=$1 limit=$2
  shift 2
  run "$step" "$limit" "$trainer" "${quiet[@]}" "devices=cuda:$gpu" "output=$log/runs/${step// /_}" "$@"
}

# A word of a run's summary: key, name of the step.
summary() { sed -n "s/^ *\"$1\": \"*\([^\",]*\)\"*,*\$/\1/p" "$log/runs/${2// /_}/summary.json" 2>/dev/null; }

# --- the parts --------------------------------------------------------------------------------------------------------

# What `trainer devices` says of this GPU, and of driver and libraries.
findings() {
  awk -v kind="$1" -v own="cuda:$gpu (" '$1 == kind && (!/cuda:[0-9]+ \(/ || index($0, own)) { sub(/^[a-z]+ +/, ""); print }' <<<"$found"
}

# False where no run can go well. The others need not be tried then.
versions() {
  local text some=false
  hint='the end of the line; afterwards: trainer devices'
  while IFS= read -r text; do
    some=true
    row FAIL 0 versions "$text"
  done < <(findings problem)
  $some && return 1
  row PASS 0 versions "$(sed -n 's/^with  *//p' <<<"$found")"
  while IFS= read -r text; do row NOTE 0 versions "$text"; done < <(findings note)
}

# Shards of a test program at a time: references are computed on one core each.
run_tests() {  # name limit program
  local step=$1 shards
  shards=$(nproc)
  [ "$shards" -le 8 ] || shards=8
  # shellcheck disable=SC2016
  run "$step" "$2" env GTEST_TOTAL_SHARDS="$shards" GTEST_BRIEF=0 bash -c 'pids=() worst=0
    for ((i = 0; i < GTEST_TOTAL_SHARDS; i++)); do
      GTEST_SHARD_INDEX=$i "$@" >"$0.$i" 2>&1 & pids+=($!)
    done
    for pid in "${pids[@]}"; do wait "$pid" || worst=$?; done
    cat "$0".*; exit $worst' "$log/${step// /_}.shard" "$(program "$3")" "--gtest_filter=${4:-*cuda*}" || return
  local passed skipped
  passed=$(grep -c '^\[       OK \]' "$out")
  skipped=$(grep -c '^\[  SKIPPED \] .*ms)' "$out")
  if [ "$code" != 0 ]; then
    row FAIL "$took" "$step" "exit $code, $passed passed, failed: $(sed -n 's/^\[  FAILED  \] \([^ ,]*\),* .*ms)$/\1/p' "$out" |
      head -n 3 | paste -sd' ') ($out)"
  elif [ "$passed" = 0 ]; then
    row FAIL "$took" "$step" "no test ran ($out)"
  else
    row PASS "$took" "$step" "$passed tests, $skipped skipped"
  fi
}

tests() {
  hint='nvidia-smi -q, and dmesg | grep -i xid: the driver sees the GPU otherwise than CUDA, or has lost it'
  run_tests 'tests of devices' 30 device_test 'CudaDiscovery.*'
  hint="the test alone, by $(program update_test) --gtest_filter=NAME; engine/update/lane_arithmetic_cuda.cu makes the sums"
  run_tests 'tests of sums' 60 update_test
  hint="the test alone, by $(program kernels_test) --gtest_filter=NAME: one op in all types is its own kernel; 16 bits alone are engines of
             cuDNN or cuBLASLt; all that need cuDNN, its version or NVRTC (machine.txt)"
  run_tests 'tests of ops' 400 kernels_test
  hint="the test alone, by $(program train_test) --gtest_filter=NAME; where the tests of ops passed, streams, graphs and memory are left"
  run_tests 'tests of training' 300 train_test
}

# A run whose parameter hash must be that of the first one.
same_bits() {  # name words ...
  local step=$1 hash
  shift
  train "$step" 120 "${of_bits[@]}" "$@" || return
  [ "$code" = 0 ] || { failure "$step"; return; }
  hash=$(summary parameter_hash "$step")
  first_hash=${first_hash:-$hash}
  if [ -n "$hash" ] && [ "$hash" = "$first_hash" ]; then
    row PASS "$took" "$step" "hash $hash"
  else
    row FAIL "$took" "$step" "hash $hash, the first was $first_hash"
  fi
}

bits() {
  hint="which one differs: again: an engine that is not deterministic ($log/cache/spire/tuning.txt names them); two devices, two processes:
             sums and exchanges; without graphs: what a capture fixed; one step at a time: a missing wait between streams"
  of_bits=("${resnet20[@]}" batch_size=32 towers=4 steps=200 precision=bf16) first_hash=''
  same_bits 'bits first run'
  same_bits 'bits again'
  same_bits 'bits two logical devices' "devices=[cuda:$gpu, cuda:$gpu]"
  same_bits 'bits without graphs' cuda.graphs=false
  same_bits 'bits one step at a time' check.replicas_every=1
  [ "$(grep -c '^cuda:' <<<"${found:-}")" -lt 2 ] ||
    CUDA_VISIBLE_DEVICES=0,1 same_bits 'bits two processes, NCCL' --processes 2 devices=cuda
  of_bits=('model={name: gpt, blocks: 4, width: 512, heads: 8, dropout: 0}' 'optimizer={name: adamw, lr: 3.0e-4}'
    'data={name: synthetic, synthetic: {kind: tokens, shape: [1024], classes: 1000, samples: 1024, test_samples: 16}}'
    batch_size=8 towers=2 steps=100 precision=bf16)
  first_hash=''
  same_bits 'bits of attention'
  same_bits 'bits of attention again'
  same_bits 'bits of attention, two devices' "devices=[cuda:$gpu, cuda:$gpu]"
  of_bits=("${resnet20[@]}" batch_size=32 towers=4 steps=60 precision=fp16 'loss_scale={initial: 1.0e9, growth_interval: 10}')
  first_hash=''
  same_bits 'bits of fp16 with skips'
  same_bits 'bits of fp16, one step at a time' check.replicas_every=1 "devices=[cuda:$gpu, cuda:$gpu]"
  of_bits=("${resnet20[@]}" batch_norm=sync batch_size=32 towers=4 steps=60 precision=bf16) first_hash=''
  same_bits 'bits of sums over towers'
  same_bits 'bits of sums, two devices' "devices=[cuda:$gpu, cuda:$gpu]"
}

precisions() {
  hint="the loss by step in $log/runs/precision_*/metrics.jsonl; docs/numerics.md says what each precision computes in"
  local precision words step loss
  for precision in fp32 tf32 bf16 fp16; do
    step="precision $precision" words=("precision=$precision")
    [ "$precision" != tf32 ] || words=(precision=fp32 cuda.tf32=true)
    train "$step" 80 "${resnet20[@]}" batch_size=128 towers=1 steps=100 "${words[@]}" || continue
    loss=$(summary train_loss "$step")
    if [ "$code" != 0 ]; then
      failure "$step"
    elif [[ $loss =~ ^[0-9.]+(e-?[0-9]+)?$ ]]; then
      row PASS "$took" "$step" "loss $loss after 100 steps"
    else
      row FAIL "$took" "$step" "loss '$loss' after 100 steps"
    fi
  done
}

# 200 tensors of 1.6 GB that backward needs: more than any GPU has, while a batch itself is small. It needs them because
# there are weights before them.
memory() {
  hint='the table above the last line there: what was planned beside what the driver says is free'
  local step='memory, too little'
  train "$step" 60 "model={name: layers, layers: [{conv2d: {channels: 3, kernel: 1}}, {resize: {factor: 8}},
    {repeat: {times: 200, layers: [gelu]}},
    global_avg_pool, {dense: {units: classes}}]}" "$(images 32 10)" batch_size=2048 towers=1 steps=1 || return
  if [ "$code" = 6 ]; then
    row PASS "$took" "$step" "exit 6: $(tail -n 1 "$err" | cut -d' ' -f2- | cut -c1-100)"
  else
    row FAIL "$took" "$step" "exit $code, not 6 ($err)"
  fi
}

# --- timings ----------------------------------------------------------------------------------------------------------

# What a GPU can do at most in 16 bits, dense, TFLOP/s, by its name.
peak_of() {
  case $1 in
    *B200*) echo 2250 ;; *H100*PCIe*) echo 756 ;; *H100* | *H200*) echo 989 ;; *A100*) echo 312 ;;
    *L40S*) echo 362 ;; *4090*) echo 165 ;; *) echo 0 ;;
  esac
}

# The same as `run`, with the GPU's memory looked at meanwhile. Sets used: MiB at the peak, less those of before.
run_watched() {
  local watcher='' samples=$log/memory.txt
  if ! $dry && command -v nvidia-smi >/dev/null; then
    nvidia-smi -i "$gpu" --query-gpu=memory.used --format=csv,noheader,nounits -lms 100 >"$samples" 2>/dev/null &
    watcher=$!
    for _ in {1..40}; do [ ! -s "$samples" ] || break; sleep 0.05; done
  fi
  "$@"
  local judge=$?
  used='?'
  if [ -n "$watcher" ]; then
    kill "$watcher"
    wait "$watcher" 2>/dev/null
    used=$(awk '/^[0-9]+$/ { if (!n++) base = $1; if ($1 > most) most = $1 } END { print n ? most - base : "?" }' "$samples")
  fi
  return $judge
}

# FLOPs of a sample, forward and backward: 6 x multiply-adds; of a row of tokens, 1024 x (6 N + 6 L C T), as llm.c counts.
declare -A flops=([resnet20]=2.45e8 [resnet50]=2.454e10 [gpt2]=8.226e11 [llama]=7.309e11)
declare -A batch=([resnet20]=512 [resnet50]=256 [gpt2]=16 [llama]=16)
declare -A steps=([resnet20]=400 [resnet50]=60 [gpt2]=60 [llama]=60) speed=()

# speed, share of the peak, memory, and seconds from the start until the first step is done
figure() {  # model samples_per_s
  local first unit=samples/s factor=1
  first=$(awk -v start="$started" '/ step 1([\/ ]|$)/ { printf "%.1f s", $1 - start; exit }' "$err")
  [[ $1 != gpt2 && $1 != llama ]] || { unit=tokens/s factor=1024; }
  awk -v s="$2" -v f="${flops[$1]}" -v p="$(peak_of "$name")" -v factor="$factor" -v unit="$unit" -v used="$used" -v first="${first:-?}" \
    'BEGIN { printf "%.0f %s, MFU %s, memory %s MiB, first step after %s", s * factor, unit,
      p ? sprintf("%.1f %%", s * f / p / 1e10) : "?", used, first }'
}

# Makes all plans first, of which cuDNN compiles some.
time_spire() {  # model precision [name words ...]
  local step="$1 $2 Spire${3:+, $3}" rate wait_ms
  local words=()
  model_words "$1"
  run_watched train "$step" 180 "${words[@]}" "batch_size=${batch[$1]}" towers=1 "steps=${steps[$1]}" "precision=$2" "${@:4}" || return
  rate=$(summary samples_per_s "$step")
  if [ "$code" != 0 ] || [ -z "$rate" ]; then
    failure "$step"
    return
  fi
  [ -n "${3:-}" ] || speed[$1 $2]=$rate
  wait_ms=$(sed -n 's/.*"time\/data_wait_ms":\([0-9.]*\).*/\1/p' "$log/runs/${step// /_}/metrics.jsonl" | tail -n 1)
  row PASS "$took" "$step" "$(figure "$1" "$rate"), waits for data ${wait_ms:-?} ms a step"
}

time_pytorch() {  # model precision eager|compile limit
  local step="$1 $2 PyTorch $3" rate
  run_watched run "$step" "$4" env TORCHINDUCTOR_CACHE_DIR="$log/inductor" "$python" "$peer" --model "$1" --precision "$2" \
    --batch "${batch[$1]}" --mode "$3" --gpu "$gpu" || return
  rate=$(sed -n 's/.*"samples_per_s": \([0-9.e+]*\).*/\1/p' "$out")
  if [ "$code" != 0 ] || [ -z "$rate" ]; then
    failure "$step"
    return
  fi
  local ratio=''
  [ -z "${speed[$1 $2]:-}" ] || ratio=$(awk "BEGIN { printf \", Spire's speed %.2f of it\", ${speed[$1 $2]} / $rate }")
  row PASS "$took" "$step" "$(figure "$1" "$rate")$ratio"
}

has_pytorch() {
  $dry && return
  if [ -z "${pytorch:-}" ]; then
    pytorch=$(timeout 60 "$python" -c 'import torch; assert torch.cuda.is_available(); print(torch.__version__)' 2>/dev/null)
    pytorch=${pytorch:-none}
    [ "$pytorch" = none ] || echo "PyTorch $pytorch" >>"$log/machine.txt"
  fi
  [ "$pytorch" != none ] || { row SKIP 0 "$1" "no PyTorch with a GPU in $python"; return 1; }
}

runs_to_time=('resnet50 bf16' 'gpt2 bf16' 'llama bf16' 'resnet20 bf16' 'resnet50 fp16')
timings() {
  hint="the run's error there; where PyTorch's run failed, whether it fits the driver; nvidia-smi: who else uses the GPU"
  local model precision
  for pair in "${runs_to_time[@]}"; do
    read -r model precision <<<"$pair"
    time_spire "$model" "$precision"
    ! has_pytorch "$pair PyTorch eager" || time_pytorch "$model" "$precision" eager 60
  done
  time_spire gpt2 bf16 'own attention' cuda.attention=own
}

compile() {
  hint="PyTorch's own error there: Triton needs a C compiler and Python's headers"
  local model precision
  has_pytorch 'PyTorch compile' || return
  for pair in "${runs_to_time[@]}"; do
    read -r model precision <<<"$pair"
    time_pytorch "$model" "$precision" compile 90
  done
}

# --- sanitizers -------------------------------------------------------------------------------------------------------

sanitize() {  # name tool limit command ...
  local step=$1 tool=$2 limit=$3
  shift 3
  # Errors that calls return are the program's to take: libraries try what a device may not have.
  run "$step" "$limit" compute-sanitizer --tool "$tool" --target-processes all --report-api-errors no --error-exitcode 99 "$@" || return
  if [ "$code" = 0 ]; then
    row PASS "$took" "$step" "$(grep -h 'SUMMARY' "$out" | tail -n 1 | sed 's/^=* *//')"
  else
    row FAIL "$took" "$step" "exit $code: $(grep -h 'SUMMARY' "$out" | tail -n 1 | sed 's/^=* *//') ($out)"
  fi
}

# Kernels with shared memory, with tails, and with one value from many: small shapes, one dtype a kernel.
sanitized='*AddTest.*cuda_fp32*:*LayerNormTest.ValuesAndGradients/cuda_bf16*:*BatchNormTest.ValuesAndGradients/cuda_fp32*'
sanitized+=':*SoftmaxCrossEntropy*.ValuesAndGradients/cuda_bf16*:Own/AttentionTest.ValuesAndGradients/cuda_bf16*'
sanitized+=':*EmbeddingTest.ValuesAndGradients/cuda_fp32*:*MaxPool2dTest.*Gradients/cuda_fp32*'

sanitizers() {
  local tool
  hint='the first report there, with kernel, line and address; kernels that are not named as ours are of cuDNN or cuBLASLt'
  if ! $dry && ! command -v compute-sanitizer >/dev/null; then
    row SKIP 0 sanitizers "no compute-sanitizer on PATH"
    return
  fi
  for tool in memcheck racecheck initcheck; do
    sanitize "$tool of ops" "$tool" 180 "$(program kernels_test)" "--gtest_filter=$sanitized"
  done
  for tool in memcheck racecheck; do
    sanitize "$tool of a step" "$tool" 180 "$trainer" "${quiet[@]}" 'model={name: cnn}' "$(images 16 10)" batch_size=8 towers=2 \
      precision=bf16 cuda.autotune=false "devices=cuda:$gpu" --dry-run 1
  done
}

# ----------------------------------------------------------------------------------------------------------------------

finish() {
  $dry && exit $failed
  passed=$(grep -c ^PASS "$log/table.txt") bad=$(grep -c ^FAIL "$log/table.txt") skipped=$(grep -c ^SKIP "$log/table.txt")
  echo "$passed passed, $bad failed, $skipped skipped; gpu_report.md and all output are in $log"
  exit $failed
}

$dry || echo "$name"
$dry || versions || finish
for part in bits timings tests compile sanitizers precisions memory; do
  wants "$part" || continue
  "$part"
done
finish
