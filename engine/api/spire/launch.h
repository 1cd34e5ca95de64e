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
  // Without MPI: where rank 0 listens, or where torchrun's agent keeps the store through which it
  // tells where. With MPI, rank 0 tells through that.
  std::string master_address;
  int master_port = 0;
  std::string store_key;  // under which rank 0 tells it; empty without a store
  bool one_host = false;  // the launcher says that all processes are on this host
  std::string secret;     // that all ranks of the run know, and nobody else; empty: none was given
};

// mpirun (Open MPI's OMPI_COMM_WORLD_*, MPICH's PMI_*), srun (SLURM_* of a job step, not of the
// batch script around it), or torchrun's RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE,
// MASTER_ADDR, MASTER_PORT (default 29500). No such variable: a run of one process. Several of them
// must agree, and then MPI is used; but srun's do not count when mpirun or torchrun run inside it.
// torchrun's own agent (TORCHELASTIC_USE_AGENT_STORE) listens on MASTER_PORT itself. SPIRE_SECRET
// or SPIRE_SECRET_FILE is the secret; without one, torchrun's variables are refused where ranks
// would meet over a network and no agent could pass one on. Without LOCAL_RANK the local rank is 0;
// without LOCAL_WORLD_SIZE the local size is as small as that allows. Throws Error(config) naming
// the variables and their values when one is no number, when one is missing that the others need,
// when a secret is missing or too short, or when two launchers disagree: a wrong rank would hang
// the others.
Launch read_launch(const Environment& environment);

}  // namespace spire
