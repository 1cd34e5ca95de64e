// Limits of the process under which nothing can run.
#pragma once

namespace spire::tool {

// Throws Error(device), which names the limit and what to type, where the stack of this process and
// its threads (ulimit -s) is too small for the program, as running out of it has no message of its
// own, or where it may open too few files (ulimit -n) for its libraries.
void check_process_limits();

}  // namespace spire::tool
