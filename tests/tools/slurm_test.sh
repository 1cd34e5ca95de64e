#!/usr/bin/env bash
# What packaging/slurm.sh does with each exit code of the run, told by an srun and a scontrol that only write down how they were
# called. Usage: slurm_test.sh SLURM_SH
set -euo pipefail

script=$(realpath "$1")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
mkdir bin
# shellcheck disable=SC2016  # the programs' own variables
printf '#!/bin/sh\necho "$@" > srun.words\nexit $(cat code)\n' > bin/srun
printf '#!/bin/sh\necho "$@" > scontrol.words\n' > bin/scontrol
chmod +x bin/srun bin/scontrol
export PATH="$folder/bin:$PATH" SLURM_JOB_ID=42 SLURM_CPUS_PER_TASK=8

fail() { echo "slurm_test: $*" >&2; exit 1; }

# job CODE [VARIABLE=VALUE ...]: the run of the job ends with CODE; so must the job
job() {
  local code=$1 ended=0
  shift
  echo "$code" > code
  rm -f scontrol.words
  env "$@" bash "$script" run.yaml optimizer.lr=0.2 2> err || ended=$?
  [ "$ended" -eq "$code" ] || fail "a run that ends with $code makes a job that ends with $ended"
}

for code in 75 8 137; do
  job $code
  [ "$(cat scontrol.words)" = 'requeue 42' ] || fail "after $code: scontrol $(cat scontrol.words)"
done
for code in 0 1 2 3 4 5 6 7 130; do
  job $code
  [ ! -e scontrol.words ] || fail "after $code the job went back into the queue"
done

job 75 SLURM_RESTART_COUNT=2 SPIRE_MAX_REQUEUES=3
[ -e scontrol.words ] || fail 'a second restart of three was not allowed'
job 75 SLURM_RESTART_COUNT=3 SPIRE_MAX_REQUEUES=3
[ ! -e scontrol.words ] || fail 'a job that had been restarted three times went back once more'
grep -q '3 restarts are enough' err || fail "$(cat err)"

job 0
grep -q -- 'trainer train --config run.yaml --resume auto optimizer.lr=0.2' srun.words || fail "srun $(cat srun.words)"
! grep -q -- --mpi srun.words || fail 'one task was started by MPI'
job 0 SLURM_NTASKS=4
grep -q -- '--mpi=pmix' srun.words || fail 'four tasks were not joined by MPI'

ended=0
bash "$script" 2> err || ended=$?
[ $ended -eq 2 ] || fail "a job without a config ended with $ended"
grep -q '^usage: ' err || fail "$(cat err)"
echo 'slurm_test: good'
