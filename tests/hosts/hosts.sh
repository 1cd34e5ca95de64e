#!/usr/bin/env bash
# Hosts inside one machine: each a network namespace with a hostname, on a cable to a switch that is
# a namespace, too. Nothing of the machine's own network is touched. Needs root and `ip`.
#
#   hosts.sh up NET N             host-1 .. host-N, whose eth0 are 10.9.0.1 .. 10.9.0.N
#   hosts.sh on NET HOST COMMAND  runs it there
#   hosts.sh remote NET ADDRESS COMMAND   the same for mpirun, in the place of ssh
#   hosts.sh cut NET HOST         packets are lost from now on, and nobody is told
#   hosts.sh mend NET HOST        returns when packets pass again
#   hosts.sh names NET HOST       the programs that run there
#   hosts.sh down NET             ends them and removes all
#
# NET is PREFIX-PID of the caller: `up` also removes what callers left who are no more.
set -euo pipefail

verb=$1 net=$2
shift 2

switch() { ip -n "$net-switch" "$@"; }

on() {
  local host=$1
  shift
  exec ip netns exec "$net-$host" unshare --uts sh -c 'hostname "$0" && exec "$@"' "$host" "$@"
}

up() {
  remove_left_over
  ip netns add "$net-switch"
  switch link add bridge type bridge
  switch link set bridge up
  local i host
  for ((i = 1; i <= $1; i++)); do
    host=host-$i
    ip netns add "$net-$host"
    ip -n "$net-$host" link set lo up
    switch link add "to-$host" type veth peer name eth0 netns "$net-$host"
    switch link set "to-$host" master bridge up
    ip -n "$net-$host" address add "10.9.0.$i/24" dev eth0
    ip -n "$net-$host" link set eth0 up
    # TCP gives up unanswered data after seconds: so end mpirun's daemons on a host that is cut off.
    ip netns exec "$net-$host" sh -c 'echo 5 > /proc/sys/net/ipv4/tcp_retries2'
    (on "$host" true)
  done
}

spaces() { ip netns list | cut -d' ' -f1 | { grep "^$1-" || true; }; }

down() {
  local space
  for space in $(spaces "$1"); do
    ip netns pids "$space" | xargs -r kill -9
    ip netns delete "$space"
  done
}

remove_left_over() {
  local space owner prefix=${net%-*}
  for space in $(spaces "$prefix"); do
    owner=${space#"$prefix-"}
    owner=${owner%%-*}
    [ -d "/proc/$owner" ] || down "$prefix-$owner"
  done
}

# The switch takes a moment to see the cable. A refused connection has been there and back.
mend() {
  local host=$1 other=1 attempt answer
  [ "$host" != host-1 ] || other=2
  switch link set "to-$host" up
  for ((attempt = 0; attempt < 30; attempt++)); do
    answer=$( (on "$host" timeout 1 bash -c ": > /dev/tcp/10.9.0.$other/9") 2>&1 || true)
    [[ $answer != *refused* ]] || return 0
  done
  echo "hosts.sh: $host is not back: $answer" >&2
  return 1
}

names() {
  local process
  for process in $(ip netns pids "$net-$1"); do
    cat "/proc/$process/comm" 2>/dev/null || true
  done
}

case $verb in
  up) up "$1" ;;
  on) on "$@" ;;
  remote)
    host=host-${1##*.}
    shift
    on "$host" sh -c "$*"
    ;;
  cut) switch link set "to-$1" down ;;
  mend) mend "$1" ;;
  names) names "$1" ;;
  down) down "$net" ;;
  *)
    echo "hosts.sh: no verb '$verb'" >&2
    exit 2
    ;;
esac
