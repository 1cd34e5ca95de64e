#!/usr/bin/env bash
# Usage: under_mpirun.sh MPIRUN RANKS PROGRAM [ARGUMENTS]. Ends with 77, which CTest takes for
# "skipped", where there is no mpirun.
set -euo pipefail

mpirun=$1 ranks=$2
shift 2
command -v "$mpirun" >/dev/null || { echo "skipped: no mpirun"; exit 77; }

# Tests may run as root in a container, and with more ranks than cores.
options=()
if [[ $("$mpirun" --version 2>&1) =~ (Open MPI|OpenRTE) ]]; then
  options=(--oversubscribe --bind-to none)
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi
# Open MPI leaves memory behind, in components that it has unloaded: no name to suppress it by.
export ASAN_OPTIONS=detect_leaks=0
exec "$mpirun" "${options[@]}" -np "$ranks" "$@"
