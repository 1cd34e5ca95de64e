// Validates HDF5 data files in a separate process, since libhdf5 may crash or hang on damaged ones.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include <spire/run_config.h>

#include "engine/data/input_file.h"

namespace spire {

struct Hdf5CheckResult {
  FileStamp stamp;                 // of the file that was checked
  std::vector<std::string> notes;  // for the user; says so if the file was not checked
};

// Reads the file in the program spire-hdf5-check; without it the file stays unchecked. Throws
// Error(data) if the program crashes or exceeds its limits, Error(device) if it cannot run or is
// killed, else what it reports. The caller compares the stamp with that of the file it opens later.
Hdf5CheckResult check_hdf5_file(const std::filesystem::path& path, const Hdf5Config& config);
// The same for samples to predict for, whose target may be missing.
Hdf5CheckResult check_hdf5_samples(const std::filesystem::path& path, const ArrayNames& names);

// Main of spire-hdf5-check for data files. Arguments: FILE, names of input and target of train,
// then of test; or FILE and the names for samples to predict for.
[[noreturn]] void hdf5_check_main(int argc, char** argv);

}  // namespace spire
