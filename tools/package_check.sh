#!/usr/bin/env bash
# Tries the packages on a bare Debian 12. tools/package_check.sh --help says how.
set -euo pipefail

usage() {
  cat <<'TEXT'
Usage: tools/package_check.sh [--packages FOLDER] ROOT

Makes the DEB and the TGZ (preset package), installs the DEB by apt in ROOT, a minimal Debian 12, and there runs
`trainer --version`, `trainer doctor`, a short training run, and builds and runs tests/install/consumer by CMake and by
pkg-config. Last it unpacks the TGZ and starts its trainer.
An empty or missing ROOT is made by debootstrap; for a second check give another one, or remove it, as what was
installed stays. Needs root, debootstrap and a reachable package mirror; what is tried is the last commit's consumer.
  --packages FOLDER   takes the packages from there and builds nothing
Exit code 0: all worked; the first command that fails ends the check with its own code.
TEXT
}

# In ROOT: the packages lie in the folder $1, the working folder is a clone of the repository.
inside() {
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -q
  apt-get install -y -q --no-install-recommends "$1"/spire_*.deb
  trainer --version
  trainer doctor
  trainer --config /usr/share/spire/configs/fashion_mnist_mlp.yaml steps=3 devices=cpu precision=fp32 tower_threads=1 \
    "data={name: synthetic, synthetic: {shape: [28, 28, 1], samples: 256, test_samples: 16}}" output=/tmp/run
  apt-get install -y -q --no-install-recommends g++ cmake make pkgconf
  cmake -S tests/install/consumer -B /tmp/consumer -DLIBRARY=spire
  cmake --build /tmp/consumer
  /tmp/consumer/consumer
  # shellcheck disable=SC2046
  g++ tests/install/consumer/main.cpp -o /tmp/by_pkg_config $(pkg-config --cflags --libs spire)
  /tmp/by_pkg_config
  tar -xzf "$1"/spire-*.tar.gz -C /tmp
  /tmp/spire-*/bin/trainer --version
  echo "package_check: the packages work"
}

packages=''
case ${1:-} in
  --inside) inside "$2"; exit 0 ;;
  --packages) packages=$(realpath "${2:?}"); shift 2 ;;
esac
case ${1:-} in
  -h | --help) usage; exit 0 ;;
  '' | -*) usage >&2; exit 2 ;;
esac
root=$(realpath -m "$1")
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if [ -z "$packages" ]; then
  cmake --preset package
  cmake --build --preset package
  (cd build/package && cpack)
  packages=$PWD/build/package/packages
fi
mkdir -p "$root/packages"
cp "$packages"/spire_*.deb "$packages"/spire-*.tar.gz "$root/packages"
exec tools/bare_machine_test.sh "$root" tools/package_check.sh --inside /packages
