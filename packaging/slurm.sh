#!/bin/bash
# A training run under Slurm, on one node or on several, which survives its time limit, preemption and lost nodes:
#
#   sbatch packaging/slurm.sh run.yaml
#   sbatch --nodes=4 packaging/slurm.sh run.yaml optimizer.lr=0.2
#
# Two minutes before the time is up Slurm sends SIGTERM to the ranks. They save a checkpoint and end with 75, and the job goes back
# into the queue. Make that time longer than a step and a checkpoint take. --requeue covers preemption and lost nodes.
#SBATCH --job-name=spire
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=1
#SBATCH --cpus-per-task=8
#SBATCH --time=04:00:00
#SBATCH --signal=TERM@120
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=%x-%j.log
set -u

if [ $# -eq 0 ]; then
  echo "usage: sbatch slurm.sh CONFIG [KEY.PATH=VALUE ...]" >&2
  exit 2
fi
config=$1
shift

# The number of times that this job may go back by itself, so that one that always fails does not go on for ever.
most=${SPIRE_MAX_REQUEUES:-100}

# MPI joins the ranks of several tasks. --kill-on-bad-exit=0: the others of a run that stops save and end by themselves.
options=(--kill-on-bad-exit=0 --cpus-per-task="${SLURM_CPUS_PER_TASK:-1}")
[ "${SLURM_NTASKS:-1}" -eq 1 ] || options+=(--mpi="${SPIRE_MPI_TYPE:-pmix}")
srun "${options[@]}" trainer train --config "$config" --resume auto "$@"
code=$?

case $code in
  75) again='stopped with a checkpoint' ;;
  8 | 137) again='a process was lost' ;;
  *) exit $code ;;  # done, or it would end so again: see docs/resuming.md
esac
if [ "${SLURM_RESTART_COUNT:-0}" -ge "$most" ]; then
  echo "slurm.sh: $again, and $most restarts are enough; submit it again to go on" >&2
  exit $code
fi
echo "slurm.sh: $again; job $SLURM_JOB_ID goes back into the queue" >&2
scontrol requeue "$SLURM_JOB_ID"
exit $code
