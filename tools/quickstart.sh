#!/usr/bin/env bash
# From a bare machine to a trained network. tools/quickstart.sh --help lists the options.
set -euo pipefail

usage() {
  cat <<'TEXT'
Usage: tools/quickstart.sh [--no-install] [CONFIG] [KEY=VALUE ...]

Installs missing packages (third_party/install-deps.sh), builds build/release/tools/trainer, and trains CONFIG
(default: configs/fashion_mnist_cnn.yaml) on whatever devices this machine has. The run is kept in a new
directory runs/quickstart-N. KEY=VALUE sets a word of the config: tools/quickstart.sh epochs=2 precision=fp32
  --no-install   takes what is there, asks no package manager
TEXT
}

install=true config=configs/fashion_mnist_cnn.yaml words=()
while [ $# -gt 0 ]; do
  case $1 in
    --no-install) install=false ;;
    -h | --help) usage; exit 0 ;;
    -*) usage >&2; exit 2 ;;
    *=*) words+=("$1") ;;
    *) config=$(realpath "$1") ;;
  esac
  shift
done

cd "$(dirname "${BASH_SOURCE[0]}")/.."
! $install || third_party/install-deps.sh
cmake --preset release
cmake --build build/release --parallel "$(nproc)" --target trainer

# oneDNN computes in bf16 where the processor has AVX-512.
if ! grep -qw avx512bw /proc/cpuinfo; then
  echo "quickstart: this processor has no AVX-512, so it trains in fp32"
  words=(precision=fp32 "${words[@]}")
fi

number=1
while [ -e "runs/quickstart-$number" ]; do number=$((number + 1)); done
output=runs/quickstart-$number
exec build/release/tools/trainer --config "$config" --output "$output" "${words[@]}"
