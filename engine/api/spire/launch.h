// Reads the rank of this process, the number of processes and the launcher from the environment
// variables that launchers set, and from nothing else.
#pragma once
#include <functional>
#include <optional>
#include <string>

namespace spire {

// Returns the value of an environment variable; nullopt if it is not set.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;
Environment process_environment();

struct Launch {
  std::string launcher;  // "mpirun", "srun", "torchrun"; empty: none
  int rank = 0, size = 1;
  int local_rank = 0, local_size = 1;  // among the processes of this host
  bool mpi = false;                    // the processes join and exchange messages through MPI
  std::string master_address;  // without MPI: of rank 0, or of the agent's store that has it
  int master_port = 0;
  std::string store_key;  // of rank 0's entry in the store; empty without a store
  bool one_host = false;  // the launcher's variables put all processes on this host
  std::string secret;     // shared by the ranks of the run; empty: none was given
};

// Reads the variables of mpirun (Open MPI's OMPI_COMM_WORLD_*, MPICH's PMI_*), of srun (SLURM_* of
// a job step, not of the batch script around it), or of torchrun: RANK, WORLD_SIZE, LOCAL_RANK
// (default 0), LOCAL_WORLD_SIZE (default LOCAL_RANK + 1), MASTER_ADDR, MASTER_PORT (default 29500).
// Without any of them it is a run of one process. Several launchers must agree, and then MPI is
// used; srun's variables do not count if mpirun or torchrun run inside it. With torchrun's agent
// (TORCHELASTIC_USE_AGENT_STORE) the agent itself listens on MASTER_PORT.
//
// SPIRE_SECRET or SPIRE_SECRET_FILE gives the secret. With torchrun's variables it is needed if the
// ranks join over a network and no agent can distribute one.
//
// Throws Error(config) with the variables and their values for a missing or bad number, a missing
// or short secret, or launchers that disagree.
Launch read_launch(const Environment& environment);

}  // namespace spire
