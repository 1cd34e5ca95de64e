// Where this code lies: files that belong to it are looked for from there.
#pragma once
#include <filesystem>

namespace spire {

// Returns the shared library or the program that has this code: from Python that is the library,
// and not /proc/self/exe.
std::filesystem::path own_file();

}  // namespace spire
