#!/usr/bin/env bash
# From a bare machine to a trained network. tools/quickstart.sh --help lists the options.
set -euo pipefail

usage() {
  cat <<'TEXT'
Usage: tools/quickstart.sh [--cuda] [--no-install] [CONFIG] [KEY=VALUE ...]

Installs the packages that are missing, builds build/release/tools/trainer for this machine, and trains CONFIG (default:
configs/fashion_mnist_cnn.yaml) on whatever devices this machine has. The run is kept in a new directory
runs/quickstart-N. KEY=VALUE sets a word of the config: tools/quickstart.sh epochs=2 precision=fp32
  --cuda         builds with CUDA also where there is no NVIDIA driver, and stops where the CUDA toolkit is incomplete.
                 Without it: with CUDA where there is a driver and the toolkit, for the GPUs of this machine
  --no-install   takes what is there, asks no package manager
TEXT
}

say() { echo "quickstart: $*"; }

cuda='' install=true config=configs/fashion_mnist_cnn.yaml words=()
while [ $# -gt 0 ]; do
  case $1 in
    --cuda) cuda=ON ;;
    --no-install) install=false ;;
    -h | --help) usage; exit 0 ;;
    -*) usage >&2; exit 2 ;;
    *=*) words+=("$1") ;;
    *) config=$(realpath "$1") ;;
  esac
  shift
done

cd "$(dirname "${BASH_SOURCE[0]}")/.."
if [ -z "$cuda" ] && [ -e /proc/driver/nvidia/version ]; then
  cuda=AUTO
elif [ -z "$cuda" ]; then
  cuda=OFF
  say "this machine has no NVIDIA driver, so trainer is built without CUDA; tools/quickstart.sh --cuda builds it with CUDA"
fi
! $install || third_party/install-deps.sh --trainer
cmake --preset release -DSPIRE_CUDA=$cuda -DSPIRE_BUILD_TESTS=OFF
cmake --build build/release --parallel "$(nproc)" --target trainer
if [ $cuda = AUTO ] && ! build/release/tools/trainer version --verbose | grep '^ *CUDA .*(GPU devices)' > /dev/null; then
  say "this machine has a GPU, but no complete CUDA toolkit, so trainer was built without CUDA and trains on the CPU;" \
    "the table above says what is missing, docs/building.md how to get it"
fi

# oneDNN computes in bf16 where the processor has AVX-512.
if ! grep -qw avx512bw /proc/cpuinfo; then
  say "this processor has no AVX-512, so it trains in fp32"
  words=(precision=fp32 "${words[@]}")
fi

number=1
while [ -e "runs/quickstart-$number" ]; do number=$((number + 1)); done
output=runs/quickstart-$number
exec build/release/tools/trainer --config "$config" --output "$output" "${words[@]}"
