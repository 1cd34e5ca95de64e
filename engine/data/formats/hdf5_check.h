// Validation of HDF5 files in a separate process, as libhdf5 may crash or hang on damaged files.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include <spire/run_config.h>

#include "engine/data/change_detection.h"

namespace spire::inline data {

// Limits of the process; large files have long chunk indices.
struct Hdf5CheckLimits {
  explicit Hdf5CheckLimits(uint64_t file_bytes)
      : cpu_seconds(20 + file_bytes / (uint64_t{256} << 20)), seconds(30 * cpu_seconds) {}

  uint64_t memory_bytes = uint64_t{2} << 30;  // beyond what the process has when it starts
  uint64_t cpu_seconds, seconds;
};

struct Hdf5CheckResult {
  FileStamp stamp;                 // of the file that was checked
  std::vector<std::string> notes;  // for the user: that it was not checked
};

// Reads the file in the process spire-hdf5-check. Throws Error(data) where that crashes or exceeds
// its limits, Error(device) where it cannot run or is killed, else by its exit code. The caller
// compares the stamp with that of the file it opens afterwards.
Hdf5CheckResult check_hdf5_file(const std::filesystem::path& path, const Hdf5Config& config);

// Reads the file as the program does, in this process.
void probe_hdf5_file(const std::filesystem::path& path, const Hdf5Config& config);
// Main of the program; arguments: FILE, input and target of train, those of test.
[[noreturn]] void hdf5_check_main(int argc, char** argv);

}  // namespace spire::inline data
