#!/usr/bin/env bash
# tools/gpu_check.sh against programs that only pretend: gpu_check_test.sh SCRIPT TRAINER
# TRAINER is the real one, for what the script says on a machine without GPUs.
set -uo pipefail
script=$1 trainer=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1

stop() { echo "gpu_check_test: $1" >&2; cat "$scratch/said" >&2; exit 1; }
# check CODE ARGUMENTS: what it says goes to the file `said`.
check() {
  local wanted=$1
  shift
  PATH=$scratch/bin:$PATH "$script" "$@" >said 2>&1
  local code=$?
  [ "$code" = "$wanted" ] || stop "exit $code, not $wanted, of gpu_check.sh $*"
}
says() { grep -qE -- "$1" said || stop "'$1' is missing in:"; }
pretend() { mkdir -p "${1%/*}" && cat >"$1" && chmod +x "$1"; }

# A trainer whose runs all end with the same hash; FAULT names one thing that goes wrong.
pretend fake/tools/trainer <<'TEXT'
#!/usr/bin/env bash
case $1 in
  devices)
    echo "cpu     2 of 2 cores: 0-1"
    echo "cuda:0  NVIDIA H100 80GB HBM3, 79.6 GiB, compute 9.0"
    echo "cuda:1  Tesla T4, 14.6 GiB, compute 7.5"
    echo "with    toolkit 13.0, driver 580.65.06 (CUDA 13.0), cuDNN 9.5.0 (this build: 9.19.0)"
    [ "${FAULT:-}" != versions ] || echo "problem  NCCL 2.10.0 is too old: install 2.19 or newer"
    echo "problem  cuda:1 (Tesla T4) has compute capability 7.5; this build has code for 9.0 and later"
    echo "note     cuDNN 9.5.0 is older than 9.19.0, which this build was compiled with"
    exit
    ;;
  version) echo "spire 0.1.0"; exit ;;
esac
words=" $* " hash=00c0ffee00c0ffee loss=1.25e-01
folder=${words#* output=} folder=${folder%% *}
[[ $words != *"times: 200"* ]] || { echo "error[6]: cuda:0: out of memory" >&2; exit 6; }
[[ $words != *"--dry-run 1"* ]] || exit 0
case ${FAULT:-} in
  bits) [[ $words != *graphs=false* ]] || hash=0badc0de0badc0de ;;
  loss) [[ $words != *precision=fp16* ]] || loss=nan ;;
  crash) [[ $words != *tf32=true* ]] || { echo "error[3]: cuda:0: no" >&2; exit 3; } ;;
  hang) [[ $words != *graphs=false* ]] || sleep 100 ;;
esac
mkdir -p "$folder"
echo "2026-11-22T00:00:00Z step 1/60 loss 2.3" >&2
printf '{\n  "train_loss": %s,\n  "samples_per_s": 2500.5,\n  "parameter_hash": "%s",\n}\n' $loss $hash >"$folder/summary.json"
echo '{"step":1,"time/data_wait_ms":0.25,"time/comm_wait_ms":0.1}' >"$folder/metrics.jsonl"
TEXT
for name in device update kernels train; do
  pretend "fake/tests/$name/${name}_test" <<'TEXT'
#!/usr/bin/env bash
[ "$GTEST_SHARD_INDEX" = 0 ] || exit 0
echo "[       OK ] Everywhere/AddTest.Values/cuda_fp32 (1 ms)"
if [ "${FAULT:-}" = test ] && [[ $0 = */kernels_test ]]; then
  echo "[  FAILED  ] Everywhere/MulTest.Values/cuda_fp32, where GetParam() = cuda_fp32 (1 ms)"
  exit 1
fi
TEXT
done
pretend bin/nvidia-smi <<'TEXT'
#!/usr/bin/env bash
[[ $* = *memory.used* ]] || exit 0
printf '500\n20500\n'
exec sleep 100
TEXT
pretend bin/compute-sanitizer <<'TEXT'
#!/usr/bin/env bash
echo "========= ERROR SUMMARY: 0 errors"
TEXT
pretend fake/python <<'TEXT'
#!/usr/bin/env bash
[ "$1" != -c ] || { echo 2.15.0; exit; }
echo "step 1" >&2
echo '{"samples_per_s": 2000.0, "steps": 10}'
TEXT

check 0 --help
says 'Exit code: 0 all passed'
check 2 --mistyped
check 2 --only bits,mistyped
check 2 --minutes soon
check 2 --build "$scratch/nothing"

check 0 --dry-run --build fake --log log
says 'fake/tools/trainer .*devices=\\\[cuda:0\\,\\ cuda:0\\\]'
says 'kernels_test --gtest_filter=\\\*cuda\\\*'
says 'compute-sanitizer --tool racecheck .*--report-api-errors no'
says '^racecheck of a step, 180 s:'
says 'cuda.autotune=false .*--dry-run 1'
says 'pytorch_gpu.py --model gpt2 --precision bf16 --batch 16 --mode compile --gpu 0'
[ ! -e log ] || stop "a dry run writes"

# All is well: every step passes, with its figures.
check 0 --build fake --python fake/python --log log
says '^PASS .* bits two logical devices +hash 00c0ffee00c0ffee'
says '^PASS .* tests of ops +1 tests, 0 skipped'
says '^PASS .* memory, too little +exit 6'
says '^PASS .* resnet50 bf16 Spire +2500 samples/s, MFU 6.2 %, memory 20000 MiB, first step after [0-9.]+ s, waits for data 0.25 ms'
says '^PASS .* gpt2 bf16 PyTorch eager +2048000 tokens/s, .*Spire.s speed 1.25 of it'
says '^PASS .* memcheck of a step +ERROR SUMMARY: 0 errors'
says '^PASS .* versions +toolkit 13.0, driver 580.65.06 \(CUDA 13.0\), cuDNN 9.5.0'
says '^NOTE .* versions +cuDNN 9.5.0 is older'
[[ $(sed -n '/^PASS/{s/^PASS *[0-9.]* *//;s/ .*//;p}' said | uniq | paste -sd' ') = 'versions bits resnet50 gpt2 '*' tests '*' memory,' ]] ||
  stop "the parts come in another order:"
! grep -q 'look at' said || stop "a hint without a failure:"
says '^44 passed, 0 failed, 0 skipped'
[ "$(grep -c ^PASS log/table.txt)" = 44 ] || stop "the table in the folder differs"
[ "$(grep -c '^| .* | PASS | ' log/gpu_report.md)" = 44 ] || stop "the report differs"
grep -q '^### NVIDIA H100 80GB HBM3, .*, 20..-..-..$' log/gpu_report.md || stop "the report does not name the card"
check 2 --build fake --log log  # which is there already

# One thing goes wrong: it is said, and the others still run.
for fault in bits loss crash test; do
  FAULT=$fault check 1 --build fake --python /nowhere/python --only tests,bits,precisions,timings --log "$fault"
  says '^27 passed, 1 failed, 5 skipped'
  [ "$(grep -c '^ *look at: ' said)" = 1 ] || stop "not one hint for one failure:"
done
grep -qE '^FAIL .* bits without graphs .*0badc0de0badc0de' bits/table.txt || stop "which bits differ"
grep -qE "^FAIL .* precision fp16 +loss 'nan'" loss/table.txt || stop "which loss is none"
grep -qE '^FAIL .* precision tf32 +exit 3: error\[3\]: cuda:0: no' crash/table.txt || stop "which run crashed"
grep -qE '^FAIL .* tests of ops .*Everywhere/MulTest.Values/cuda_fp32' test/table.txt || stop "which test failed"
grep -qE '^SKIP .* no PyTorch with a GPU in /nowhere/python' test/table.txt || stop "PyTorch is not missed"

grep -A 1 '^FAIL' bits/table.txt | grep -q 'look at: which one differs: again: ' || stop "where to look for other bits"

# What no run can do with ends it before the first, and another GPU's troubles are not this one's.
FAULT=versions check 1 --build fake --log versions
says '^FAIL .* versions +NCCL 2.10.0 is too old: install 2.19 or newer'
says '^0 passed, 1 failed, 0 skipped'
check 1 --build fake --gpu 1 --log second
says '^FAIL .* versions +cuda:1 \(Tesla T4\) has compute capability 7.5'

# Time runs out: what hangs is ended, what is left is skipped. How much that is depends on the machine's load.
FAULT=hang check 0 --build fake --only bits,precisions --minutes 0.1 --log hang
says '^SKIP .* bits without graphs +no time left'
says '^SKIP .* precision fp16 +no time left'
says '^[1-4] passed, 0 failed, 1[2-6] skipped'

if ! "$trainer" devices | grep -q ^cuda:0; then
  mkdir -p real/tools
  ln -s "$trainer" real/tools/trainer
  check 3 --build real
  says 'no GPU cuda:0 here: none: '
fi
echo "passed"
