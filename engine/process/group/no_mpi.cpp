#include "engine/base/fail.h"
#include "engine/process/group/process_group.h"

namespace spire {

std::unique_ptr<ProcessGroup> mpi_group(const Launch& launch) {
  fail(Category::device,
       "{} starts {} processes that communicate by MPI, but this build has no MPI support: "
       "configure it with -DSPIRE_MPI=ON, or start the processes with torchrun's variables (RANK, "
       "WORLD_SIZE, MASTER_ADDR)",
       launch.launcher, launch.size);
}

std::string mpi_version() {
  return {};
}

}  // namespace spire
