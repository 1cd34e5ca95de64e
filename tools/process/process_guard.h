// Guards of the process against ends that give no message of their own: limits that are too small,
// and libraries that call exit().
#pragma once

namespace spire::tool {

// Throws Error(device), which names the limit and the command that raises it, where the stack of
// this process and its threads (ulimit -s) or its number of open files (ulimit -n) is too small.
void check_process_limits();

// Turns an exit() called by a library during its lifetime into a line on stderr and code 3. OpenMP
// calls exit(1) where the system refuses a thread, and 1 would restart the run. At most one object
// at a time, in main().
class ExitGuard {
 public:
  ExitGuard();
  ~ExitGuard();
  ExitGuard(const ExitGuard&) = delete;
  ExitGuard& operator=(const ExitGuard&) = delete;
};

}  // namespace spire::tool
