#include "tools/process/process_guard.h"

#include <atomic>
#include <cstdlib>
#include <sys/resource.h>

#include <unistd.h>

#include <spire/error.h>

#include "engine/base/system_limits.h"
#include "tools/output/streams.h"

namespace spire::tool {

namespace {

constexpr rlim_t min_stack_bytes = 512 << 10;  // a training step takes less than half of it
// A run opens about ten files at a time, and GPU libraries end the program where they cannot load
// their parts.
constexpr rlim_t min_files = 24;

void check_stack() {
  rlimit stack = {};
  if (getrlimit(RLIMIT_STACK, &stack) != 0 || stack.rlim_cur >= min_stack_bytes) return;
  fail(Category::device,
       "the limit on stacks is {} KiB (ulimit -s), and the program needs {}; type: ulimit -s 8192",
       stack.rlim_cur >> 10, min_stack_bytes >> 10);
}

void check_files() {
  rlimit files = {};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur >= min_files) return;
  fail(Category::device,
       "the limit on open files is {} (ulimit -n), and the program needs {}; type: ulimit -n 1024",
       files.rlim_cur, min_files);
}

// An atexit() handler has no argument, so its state is static.
std::atomic<bool> in_main = false;

// _exit() and not exit(): other threads still run, and destructors would pull data from under them.
void end_process() {
  if (!in_main) return;
  int code = static_cast<int>(Category::device);
  print_log(
      "error[{}]: a library ended the program, for the reason above; where that was a thread: {}\n",
      code, thread_limits());
  _exit(code);
}

}  // namespace

void check_process_limits() {
  check_stack();
  check_files();
}

ExitGuard::ExitGuard() {
  if (std::atexit(end_process) == 0) in_main = true;
}

ExitGuard::~ExitGuard() {
  in_main = false;
}

}  // namespace spire::tool
