#include "tools/bench/runs/machine.h"

#include <sys/utsname.h>

#include <fmt/ranges.h>

#include "engine/device/device.h"
#include "engine/device/topology.h"
#include "tools/doctor/processor.h"

namespace spire {
Machine this_machine() {
  utsname system{};
  uname(&system);
  Machine machine;
  machine.host = system.nodename;
  machine.system = fmt::format("{} {} {}", system.sysname, system.release, system.machine);
  Processor processor = read_processor();
  machine.cpu = processor.name;
  machine.cores = std::ssize(discover_topology().cores);
  machine.instructions = fmt::format("{}", fmt::join(instruction_sets(processor), ", "));
  for (const CudaDeviceInfo& gpu : discover_cuda().devices) machine.gpus.push_back(gpu.name);
  return machine;
}

}  // namespace spire
