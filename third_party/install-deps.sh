#!/usr/bin/env bash
# Installs the Debian/Ubuntu packages that Spire is built from, those that are missing and no others.
# Usage: third_party/install-deps.sh [--trainer | --fuzz] [--dry-run]
set -euo pipefail

packages=(
  ca-certificates git cmake ninja-build g++
  libdnnl-dev libeigen3-dev libhdf5-dev zlib1g-dev libjpeg-dev libpng-dev libwebp-dev libtiff-dev libpcre2-dev
  libutf8proc-dev libxxhash-dev libsodium-dev libyaml-cpp-dev libcli11-dev libfmt-dev nlohmann-json3-dev
  libmicrohttpd-dev prometheus-cpp-dev libprotozero-dev libminizip-dev
  libopenmpi-dev openmpi-bin
  pkgconf dataset-fashion-mnist
)
# Of those who change Spire.
development=(
  ccache libgtest-dev libgmock-dev iproute2 clang-format clang-tidy universal-ctags python3
)

usage() {
  cat <<'TEXT'
Usage: third_party/install-deps.sh [--trainer | --fuzz] [--dry-run]

Installs the packages that Spire is built, checked and tested with and the Fashion-MNIST data, if they are missing.
Does nothing where all are there. Needs root or sudo.
  --trainer   only what the program trainer is built from: no test, no check
  --fuzz      also what tools/fuzz.sh needs
  --dry-run   prints the command it would run, and runs nothing
TEXT
}

stop() { echo "install-deps: $*" >&2; exit 3; }

installed() {
  [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null || true)" = installed ]
}

dry_run=false
for argument in "$@"; do
  case $argument in
    --trainer) development=() ;;
    --fuzz) development+=(clang libclang-rt-14-dev) ;;
    --dry-run) dry_run=true ;;
    -h | --help) usage; exit 0 ;;
    *) usage >&2; exit 2 ;;
  esac
done

packages+=("${development[@]}")

[ -n "$(command -v apt-get)" ] ||
  stop "no apt-get here. On Debian and Ubuntu this script installs: ${packages[*]}. Elsewhere install the same" \
    "libraries by your own package manager, then build."

missing=()
for package in "${packages[@]}"; do
  installed "$package" || missing+=("$package")
done
if [ ${#missing[@]} -eq 0 ]; then
  echo "install-deps: all ${#packages[@]} packages are installed"
  exit 0
fi

root=()
if [ "$(id -u)" -ne 0 ]; then
  root=(sudo)
  $dry_run || command -v sudo >/dev/null || stop "not root and no sudo. As root: apt-get install ${missing[*]}"
fi
install=("${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${missing[@]}")
if $dry_run; then
  echo "${root[@]}" apt-get update
  echo "${install[@]}"
  exit 0
fi

echo "install-deps: installing ${missing[*]}"
"${root[@]}" apt-get update -q || stop "apt-get update failed: is a package mirror reachable?"
"${install[@]}" || stop "apt-get install failed; the lines above say why"
