// Reads from the environment variables of launchers, and from nothing else, which launcher started
// this process, its rank (its number in the run) and the number of processes.
#pragma once
#include <functional>
#include <optional>
#include <string>

#include <spire/export.h>

namespace spire {

// Function that returns the value of an environment variable; nullopt if it is not set.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;
SPIRE_API Environment process_environment();

struct Launch {
  std::string launcher;  // "mpirun", "srun", "torchrun"; empty: no launcher
  int rank = 0, size = 1;
  int local_rank = 0, local_size = 1;  // among the processes of this host
  bool mpi = false;                    // the processes join and exchange messages through MPI
  // Without MPI: where rank 0 listens. If store_key is set, where torchrun's key-value store
  // listens, in which rank 0 publishes its address under that key.
  std::string master_address;
  int master_port = 0;
  std::string store_key;
  bool one_host = false;  // true if the variables show that all processes run on this host
  std::string secret;     // by which the ranks recognize each other; empty: none was given
};

// Reads the variables of mpirun (Open MPI's OMPI_COMM_WORLD_*, MPICH's PMI_*), of srun (SLURM_* of
// a job step, not of the batch script around it), or of torchrun: RANK, WORLD_SIZE, LOCAL_RANK
// (default 0), LOCAL_WORLD_SIZE (default LOCAL_RANK + 1), MASTER_ADDR, MASTER_PORT (default 29500).
// Without any of them the run has one process. If several launchers have set theirs, rank and size
// must agree, and MPI is used; srun's variables are ignored if mpirun or torchrun run inside srun.
// TORCHELASTIC_USE_AGENT_STORE says that torchrun's store listens on MASTER_PORT.
//
// SPIRE_SECRET or SPIRE_SECRET_FILE gives the secret. With torchrun's variables it is required if
// the ranks join over a network and there is no store through which rank 0 can share one.
//
// Throws Error(config) with the variables and their values for a missing or bad number, a missing
// or short secret, or launchers that disagree.
SPIRE_API Launch read_launch(const Environment& environment);

}  // namespace spire
