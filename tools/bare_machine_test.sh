#!/usr/bin/env bash
# Proves a command in a fresh clone on a bare Debian 12. tools/bare_machine_test.sh --help says how.
set -euo pipefail

usage() {
  cat <<'TEXT'
Usage: tools/bare_machine_test.sh ROOT [COMMAND ...]

Runs COMMAND (default: .ci/run) in a fresh clone of this repository's last commit, inside ROOT: a minimal
Debian 12 with nothing installed. An empty or missing ROOT is made by debootstrap; an existing one is taken as
it is, so that a copy of a bare one saves the download. The clone lies in ROOT/root/spire. Needs root,
debootstrap and a reachable package mirror. The host's apt configuration is used inside.
TEXT
}

case ${1:-} in
  '' | -*) usage; [ "${1:-}" = --help ] && exit 0 || exit 2 ;;
esac
root=$(realpath -m "$1")
shift
[ $# -gt 0 ] || set -- .ci/run
repository=$(realpath "$(dirname "${BASH_SOURCE[0]}")/..")

if [ ! -x "$root/bin/bash" ]; then
  command -v debootstrap >/dev/null || { echo "bare_machine_test: debootstrap is missing: apt-get install debootstrap" >&2; exit 3; }
  mkdir -p "$root"
  debootstrap --variant=minbase bookworm "$root"
fi
for path in /etc/apt/sources.list /etc/apt/sources.list.d /etc/apt/apt.conf.d /etc/apt/trusted.gpg.d \
  /etc/apt/keyrings /usr/share/keyrings /etc/resolv.conf /etc/hosts; do
  [ ! -e "$path" ] || cp -rL --parents "$path" "$root"
done
rm -rf "$root/root/spire"
git clone -q --no-hardlinks "$repository" "$root/root/spire"

# The mounts live in their own namespace and go with it.
# shellcheck disable=SC2016
inside='set -e; root=$1; shift
  mount -t proc proc "$root/proc"
  mount --rbind /sys "$root/sys"
  mkdir -p "$root/dev/shm" "$root/dev/pts"
  mount -t tmpfs tmpfs "$root/dev/shm"
  mount --bind /dev/pts "$root/dev/pts"
  exec chroot "$root" /usr/bin/env -i HOME=/root TERM=dumb PATH=/usr/sbin:/usr/bin:/sbin:/bin \
    bash -c "cd /root/spire && exec \"\$@\"" bash "$@"'
exec unshare --mount --pid --fork --propagation private bash -c "$inside" bash "$root" "$@"
