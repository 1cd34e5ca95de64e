#!/usr/bin/env bash
# Tries what is handed out, each in a bare Debian 12. tools/package_check.sh --help says how.
set -euo pipefail

usage() {
  cat <<'TEXT'
Usage: tools/package_check.sh [--only KINDS] [--packages FOLDER] [--gpus LIST] [--jobs N] ROOT

Makes each kind of package and tries it in a bare Debian 12 of its own: ROOT/KIND, a copy of ROOT/bare, which debootstrap
makes if it is missing. Each trains an epoch of Fashion-MNIST there and has to reach an accuracy of 0.8.
  --only KINDS        of these, joined by commas (default: all):
                        deb      installed by apt; programs in C++ and C are built and run with it by CMake and pkg-config
                        tgz      unpacked, beside the Debian packages that the DEB asks for
                        bundle   unpacked (docs/building.md)
                        wheel    installed by pip (docs/python.md), without a network and without a compiler
                        image    packaging/Dockerfile's steps for CPUs: built in one bare root, and run in another with mpirun
  --packages FOLDER   takes DEB, TGZ, bundle and wheel from there and builds none of them
  --gpus LIST         SPIRE_CUDA_ARCHITECTURES of bundle and wheel (docs/building.md); 90 takes a quarter of the time
  --jobs N            compile jobs at a time (default: the cores this process may use)
Needs root, debootstrap and a reachable package mirror; what is built for the image, and the C++ program, is the last commit.
Exit code 0: all worked; the first command that fails ends the check with its own code.
TEXT
}

# --- in a bare root: the packages lie in /packages, the working folder is a clone of the repository -----------------------

install() { apt-get install -y -q --no-install-recommends "$@"; }

# trains FOLDER_OF_CONFIGS COMMAND...: an epoch, after which the accuracy is in the run's summary.
trains() {
  local configs=$1
  shift
  rm -rf /tmp/run
  "$@" --config "$configs/fashion_mnist_mlp.yaml" epochs=1 devices=cpu precision=fp32 output=/tmp/run
  accuracy=$(sed -n 's/.*"best_accuracy": *\([0-9.]*\).*/\1/p' /tmp/run/summary.json)
  echo "package_check: accuracy $accuracy after an epoch of Fashion-MNIST"
  awk "BEGIN { exit !($accuracy > 0.8) }"
}

inside() {
  export DEBIAN_FRONTEND=noninteractive
  case $1 in
    image-build)
      third_party/install-deps.sh
      packaging/image.sh build -DSPIRE_CUDA=OFF
      return
      ;;
    image)
      packaging/image.sh install
      cd /runs
      export HOME=/home/spire
      trains /usr/share/spire/configs setpriv --reuid=1000 --regid=1000 --clear-groups \
        mpirun -np 2 --oversubscribe --bind-to none trainer
      return
      ;;
  esac
  apt-get update -q
  install dataset-fashion-mnist
  case $1 in
    deb)
      install /packages/spire_*.deb
      trainer --version
      trainer doctor
      trains /usr/share/spire/configs trainer
      install g++ cmake make pkgconf
      cmake -S tests/install/consumer -B /tmp/consumer -DLIBRARY=spire
      cmake --build /tmp/consumer
      /tmp/consumer/consumer
      # shellcheck disable=SC2046
      g++ -std=c++20 tests/install/consumer/main.cpp -o /tmp/by_pkg_config $(pkg-config --cflags --libs spire)
      /tmp/by_pkg_config
      # shellcheck disable=SC2046
      gcc docs/examples/minimal.c -o /tmp/in_c $(pkg-config --cflags --libs spire_c)
      /tmp/in_c
      ;;
    tgz)
      apt-get satisfy -y -q --no-install-recommends "$(dpkg-deb -f /packages/spire_*.deb Depends)"
      tar -xzf /packages/spire-*-Linux.tar.gz -C /opt
      trains "$(echo /opt/spire-*/share/spire/configs)" "$(echo /opt/spire-*/bin/trainer)"
      ;;
    bundle)
      tar -xzf /packages/spire-*-linux-*.tar.gz -C /opt
      trains "$(echo /opt/spire-*/configs)" "$(echo /opt/spire-*/bin/trainer)"
      ;;
    wheel)
      install python3-venv
      python3 -m venv /opt/venv
      /opt/venv/bin/pip install --no-index --find-links /packages spire
      /opt/venv/bin/trainer version --verbose
      trains /opt/venv/share/spire/configs /opt/venv/bin/trainer
      /opt/venv/bin/python docs/examples/train.py
      ;;
  esac
}

# --- on this machine ------------------------------------------------------------------------------------------------------

build() {  # preset target option...
  cmake --preset "$1" "${@:3}"
  cmake --build "build/$1" --target "$2" --parallel "$jobs"
}

make_packages() {  # kind: into $packages
  case $1 in
    deb | tgz)
      build package all
      (cd build/package && cpack -G "${1^^}" -B "$packages")
      ;;
    bundle)
      build bundle bundle ${gpus:+"-DSPIRE_CUDA_ARCHITECTURES=$gpus"}
      cp build/bundle/bundle/spire-*.tar.gz "$packages"
      ;;
    wheel)
      tools/test_wheel.sh --keep build/wheel ${gpus:+-- -C "cmake.define.SPIRE_CUDA_ARCHITECTURES=$gpus"}
      cp build/wheel/dist/*.whl "$packages"
      ;;
  esac
}

bare() {  # kind: a bare root for it, with the packages
  rm -rf "${root:?}/$1"
  cp -a "$root/bare" "$root/$1"
  mkdir "$root/$1/packages"
}

try() {  # kind
  echo "package_check: $1"
  if [ "$1" = image ]; then
    bare image-build
    JOBS=$jobs tools/bare_machine_test.sh "$root/image-build" tools/package_check.sh --inside image-build
    bare image
    cp "$root"/image-build/packages/spire_*.deb "$root/image/packages"
  else
    "$given" || make_packages "$1"
    [ "$1" != tgz ] || "$given" || make_packages deb
    bare "$1"
    find "$packages" -maxdepth 1 -type f -exec cp {} "$root/$1/packages" \;
  fi
  tools/bare_machine_test.sh "$root/$1" tools/package_check.sh --inside "$1"
  echo "package_check: $1 works"
}

kinds=deb,tgz,bundle,wheel,image packages='' given=false gpus='' jobs=$(nproc) root=''
while [ $# -gt 0 ]; do
  case $1 in
    --inside) inside "$2"; exit 0 ;;
    --only | --packages | --gpus | --jobs)
      [ $# -ge 2 ] || { usage >&2; exit 2; }
      case $1 in
        --only) kinds=$2 ;;
        --packages) packages=$(realpath "$2") given=true ;;
        --gpus) gpus=$2 ;;
        --jobs) jobs=$2 ;;
      esac
      shift 2
      ;;
    -h | --help) usage; exit 0 ;;
    -*) usage >&2; exit 2 ;;
    *) root=$(realpath -m "$1"); shift ;;
  esac
done
[ -n "$root" ] || { usage >&2; exit 2; }
for kind in ${kinds//,/ }; do
  [[ $kind =~ ^(deb|tgz|bundle|wheel|image)$ ]] || { usage >&2; exit 2; }
done
cd "$(dirname "${BASH_SOURCE[0]}")/.."
packages=${packages:-$PWD/build/packages}
mkdir -p "$packages"
[ -x "$root/bare/bin/bash" ] || tools/bare_machine_test.sh "$root/bare" true
for kind in ${kinds//,/ }; do
  try "$kind"
done
