// Lets the program spire-hdf5-check read an HDF5 file first, since libhdf5 may crash or hang on
// damaged files: both sides of it.
#pragma once
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <spire/error.h>

namespace spire::h5 {

inline constexpr const char* check_program = "spire-hdf5-check";

// Runs that program with FILE and `words`. Returns false where it is nowhere, and the file is
// unchecked. Throws Error(damaged) if it crashes or exceeds its limits, Error(device) if it cannot
// run or is killed, else what it reports.
bool read_by_program(const std::filesystem::path& path, std::vector<std::string> words,
                     Category damaged);

// Returns the folders in which it is looked for, given the running program's file and the one that
// has this code.
std::vector<std::filesystem::path> program_folders(const std::filesystem::path& program,
                                                   const std::filesystem::path& own);

// Returns what to tell of a file that is unchecked.
std::string unchecked_words(const std::filesystem::path& path);

// The program's side: reads the file within limits of memory and time, writes the verdict, ends the
// process. What read() throws is the verdict's text and, as its exit code, its category.
[[noreturn]] void end_with_verdict(const std::filesystem::path& path, Category damaged,
                                   const std::function<void()>& read);

}  // namespace spire::h5
