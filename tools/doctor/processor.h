// The processor and its clocks: instruction sets that matrix products use, and the precision for
// runs that follows from them; governor and clock source.
#pragma once
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "engine/device/device.h"
#include "engine/run/machine/finding.h"

namespace spire {

struct Processor {
  std::string name = {};             // "AMD EPYC 9B45"
  std::string vendor = {};           // "AuthenticAMD", "GenuineIntel"; empty on Arm
  std::set<std::string> flags = {};  // as /proc/cpuinfo names them: "avx512_bf16"
  std::string clock_source = {};     // "tsc"; empty, also below: the kernel does not tell
  // Of the first core: "powersave", "intel_pstate".
  std::string governor = {}, frequency_driver = {};
};

// root: the folder that contains proc and sys; tests have one of their own.
Processor read_processor(const std::filesystem::path& root = "/");

// Names those of its instruction sets that products use: {"AVX2", "AVX-512", "AMX"}.
std::vector<std::string> instruction_sets(const Processor& processor);

// gpus: those that runs may use; they decide the precision where there are any. Topics:
// instructions, precision, governor, clock_source.
Findings check_processor(const Processor& processor, const std::vector<CudaDeviceInfo>& gpus);

}  // namespace spire
