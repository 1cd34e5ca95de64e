// Both sides of the check of an HDF5 file by the program spire-hdf5-check, which reads the file
// first, since libhdf5 may crash or hang on damaged files.
#pragma once
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <spire/error.h>

namespace spire::h5 {

inline constexpr const char* check_program = "spire-hdf5-check";

// Runs the program with the arguments `path` and `words`, and waits for it. Returns true if the
// file is good; false if the program is not found: the file is unchecked. Throws Error(damaged)
// if the program crashes or exceeds its limits, Error(device) if it cannot run or is killed, else
// the error that it reports.
bool read_by_program(const std::filesystem::path& path, std::vector<std::string> words,
                     Category damaged);

// Returns the folders in which to look for spire-hdf5-check. program: the running program's file.
// own: own_file().
std::vector<std::filesystem::path> program_folders(const std::filesystem::path& program,
                                                   const std::filesystem::path& own);

// Returns the warning about a file that was read unchecked.
std::string unchecked_words(const std::filesystem::path& path);

// The program's side: calls read() within limits of memory and time, writes the verdict to stdout
// and ends the process. If read() throws, the verdict is its message, and the exit code its
// category (`damaged` for want of memory).
[[noreturn]] void end_with_verdict(const std::filesystem::path& path, Category damaged,
                                   const std::function<void()>& read);

}  // namespace spire::h5
