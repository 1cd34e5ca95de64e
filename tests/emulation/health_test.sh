#!/usr/bin/env bash
# Signs of failing GPUs become warnings while a run trains, once each and wherever warnings go, on emulated GPUs and a
# scripted NVML. Usage: health_test.sh TRAINER SCRIPTED_NVML
set -euo pipefail

trainer=$1
work=$(mktemp -d)
trap 'jobs -p | xargs -r kill -9 2>/dev/null; rm -rf "$work"' EXIT
export EMULATED_GPUS=2 EMULATED_PCI=yes SPIRE_NVML=$2 SPIRE_SCRIPTED_NVML=$work/machine.json SPIRE_LOCKS=$work XDG_CACHE_HOME=$work

fail() {
  echo "health_test: $*" >&2
  exit 1
}

# machine CORRECTED UNCORRECTED THROTTLE XIDS: those of GPU 1; GPU 0 is sound.
machine() {
  {
    echo '{"driver": "550.54.15", "gpus": ['
    for i in 0 1; do
      printf '%s{"name": "emulation", "uuid": "GPU-00000000-0000-0000-0000-00000000000%d", "pci": "00000000:E%d:00.0",' \
        "$([ $i = 0 ] || echo ,)" $i $i
      if [ $i = 0 ]; then set -- "$1" "$2" "$3" "$4" 0 0 0 ''; else set -- "$1" "$2" "$3" "$4" "$1" "$2" "$3" "$4"; fi
      printf '"memory_mib": {"total": 16384, "used": 4}, "celsius": 91, "sm_mhz": 1200, "max_sm_mhz": 1980,'
      printf '"ecc_corrected": %d, "ecc_uncorrected": %d, "throttle_bits": %d, "xids": [%s]}\n' "$5" "$6" "$7" "$8"
    done
    echo ']}'
  } >"$work/next.json"
  mv "$work/next.json" "$work/machine.json"
}

# Waits until the file has the text.
await() {
  until grep -qs -- "$2" "$1"; do
    kill -0 "$run" 2>/dev/null || fail "the run ended before '$2': $(cat "$work/run.err")"
    sleep 0.05
  done
}

# The body of http://127.0.0.1:$port$1
page() {
  exec 3<>"/dev/tcp/127.0.0.1/$port"
  printf 'GET %s HTTP/1.1\r\nHost: 127.0.0.1:%s\r\nConnection: close\r\n\r\n' "$1" "$port" >&3
  cat <&3
  exec 3<&- 3>&-
}

machine 4 1 0 ''
"$trainer" model.name=mlp "model.hidden=[4]" data.name=synthetic "data.synthetic.shape=[4, 4, 1]" data.synthetic.samples=64 \
  data.synthetic.test_samples=8 batch_size=4 steps=100000000 eval.every_epochs=0 checkpoint.every_epochs=0 log.every_seconds=1000 \
  devices=cuda monitor.every_seconds=0.05 monitor.prometheus=127.0.0.1:0 "output=$work/run" >"$work/run.out" 2>"$work/run.err" &
run=$!
await "$work/run/metrics.jsonl" '"device/celsius":91'
! grep -q '"warning"' "$work/run/metrics.jsonl" || fail "a sound GPU is warned of: $(grep warning "$work/run/metrics.jsonl")"
port=$(grep -o '127\.0\.0\.1:[0-9]*' "$work/run.err" | head -n 1 | cut -d: -f2)
before=$(page /metrics | sed -n 's/^spire_warnings_total[^ ]* \([0-9]*\).*/\1/p')

machine 5 3 32 31
warnings=('cuda:1 has reported error XID 31; ' 'cuda:1 has had 2 errors that its memory could not correct; '
  'cuda:1 has corrected errors of its memory; ' 'cuda:1 is throttled by heat: 91 °C, 1200 of 1980 MHz; ')
for warning in "${warnings[@]}"; do await "$work/run/metrics.jsonl" "$warning"; done
machine 5 3 32 79  # what is new after that is told alone
await "$work/run/metrics.jsonl" 'cuda:1 has reported error XID 79; '
after=$(page /metrics | sed -n 's/^spire_warnings_total[^ ]* \([0-9]*\).*/\1/p')
[ $((after - before)) = 5 ] || fail "spire_warnings_total: $before, then $after"
kill $run
code=0
wait $run || code=$?
[ $code = 75 ] || fail "exit $code: $(cat "$work/run.err")"
for warning in "${warnings[@]}" 'cuda:1 has reported error XID 79; '; do
  for file in "$work/run.err" "$work/run/metrics.jsonl"; do
    [ "$(grep -c -- "$warning" "$file")" = 1 ] || fail "$file: not once: $warning"
  done
done
[ "$(grep -c '"warning":"cuda' "$work/run/metrics.jsonl")" = 5 ] || fail "other warnings: $(grep warning "$work/run/metrics.jsonl")"
echo "five signs, each told once"
