// The file that holds this code. Spire finds its other files relative to it.
#pragma once
#include <filesystem>

namespace spire {

// Returns the path of the shared library that holds this code, or of the program if it is linked in
// statically. In Python that is the library, whereas /proc/self/exe is the interpreter.
std::filesystem::path own_file();

}  // namespace spire
