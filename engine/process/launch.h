// How this process came to be: which one of how many, and who started it. Read from the variables
// that launchers set, and from nothing else.
#pragma once
#include <functional>
#include <optional>
#include <string>

namespace spire {

// The value of an environment variable; nothing when it is not set.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;
Environment process_environment();

struct Launch {
  std::string launcher;  // "mpirun", "srun", "torchrun"; empty: none
  int rank = 0, size = 1;
  int local_rank = 0, local_size = 1;  // among the processes of this host
  bool mpi = false;                    // the processes find each other, and talk, through MPI
  // Where rank 0 listens, without MPI; with it, rank 0 tells.
  std::string master_address;
  int master_port = 0;
};

// mpirun (Open MPI's OMPI_COMM_WORLD_*, MPICH's PMI_*), srun (SLURM_* of a job step, not of the
// batch script around it), or torchrun's RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE,
// MASTER_ADDR, MASTER_PORT (default 29500). No such variable: a run of one process. Several of them
// must agree, and then MPI is used; but srun's do not count when mpirun or torchrun run inside it.
// Without LOCAL_RANK the local rank is 0; without LOCAL_WORLD_SIZE the local size is as small as
// that allows.
// Throws Error(config) naming the variables and their values when one is no number, when one is
// missing that the others need, or when two launchers disagree: a wrong rank would hang the others.
Launch read_launch(const Environment& environment);

}  // namespace spire
