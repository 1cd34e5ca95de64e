#!/bin/sh
# The steps of packaging/Dockerfile, each as root in a Debian 12. tools/package_check.sh runs the same ones without Docker.
#
#   packaging/image.sh build [OPTION...]   in the source tree, behind third_party/install-deps.sh: the DEB, in /packages.
#                                          OPTION: for configure, as -DSPIRE_CUDA=ON. JOBS in the environment: at a time
#   packaging/image.sh install             in the system of the image: what it runs, from /packages, and its user
set -eu
export DEBIAN_FRONTEND=noninteractive

case ${1:-} in
  build)
    shift
    apt-get update -q
    apt-get install -y -q --no-install-recommends dpkg-dev file
    cmake --preset package "$@"
    cmake --build build/package --parallel ${JOBS:+"$JOBS"}
    (cd build/package && cpack -G DEB -B /packages)
    ;;
  install)
    apt-get update -q
    # trainer, mpirun and the Fashion-MNIST data, without what C++ programs are made of.
    apt-get install -y -q --no-install-recommends -o Dpkg::Options::=--path-exclude='/usr/include/*' \
      -o Dpkg::Options::=--path-exclude='*.a' /packages/spire_*.deb openmpi-bin dataset-fashion-mnist
    rm -rf /var/lib/apt/lists/* /packages
    useradd --create-home --uid 1000 spire
    mkdir /runs
    chown spire:spire /runs
    ;;
  *)
    echo "image.sh: build or install" >&2
    exit 2
    ;;
esac
