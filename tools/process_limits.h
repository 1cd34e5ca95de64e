// Limits of the process under which nothing can run.
#pragma once

namespace spire::tool {

// Throws Error(device), which names the limit and what to type, where the stack of this process and
// its threads (ulimit -s) is too small for the program: running out of it has no message of its
// own.
void check_process_limits();

}  // namespace spire::tool
