// HDF5 files are of strangers, and libhdf5 is not made for damage: some of it ends the process, or
// keeps it for good. So another program reads what a run would rely on before the run does.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include <spire/run_config.h>

#include "engine/data/steady_file.h"

namespace spire::inline data {

// What a checking program may take for a file. Large ones have long indices of chunks, and may lie
// on a slow disk.
struct CheckLimits {
  explicit CheckLimits(uint64_t file_bytes)
      : cpu_seconds(20 + file_bytes / (uint64_t{256} << 20)), seconds(30 * cpu_seconds) {}

  uint64_t memory_bytes = uint64_t{2} << 30;  // beyond what it has when it starts
  uint64_t cpu_seconds, seconds;
};

struct CheckedFile {
  FileStamp stamp;                 // of the file that was looked at
  std::vector<std::string> notes;  // for the user: that it was not
};

// Opens the file in a process of its own, spire-hdf5-check: structure, attributes, checksums, and
// the index of chunks of both halves, and some of the rows. Throws Error(data) naming the file when
// that fails, crashes, or takes more than CheckLimits; Error(device) where the program cannot run
// or is killed; and an Error of the category that the program's exit code names, such as device
// where it may open no file. What is opened afterwards must be the file that was looked at.
//
// The program is the one that the variable SPIRE_HDF5_CHECK names, else lies beside the program
// that runs (/proc/self/exe), else where Spire was installed. Where none of them is there, files
// are opened unchecked, and a note says so. The process is started by posix_spawn and waited for by
// its id; nothing of this process but standard error is open in it, and it is not told the run's
// secret.
CheckedFile check_hdf5_file(const std::filesystem::path& path, const Hdf5Config& config);

// What the checking program does: reads as said above, in this process. Throws Error(data), and
// Error(device) at a limit of the system.
void examine_hdf5_file(const std::filesystem::path& path, const Hdf5Config& config);
// Its `main`: the words are FILE and the names of train's input and target and of test's. Takes the
// limits for the whole process, writes + or - and what is wrong to standard output, and exits with
// the category of that.
[[noreturn]] void run_hdf5_check(int argc, char** argv);

}  // namespace spire::inline data
