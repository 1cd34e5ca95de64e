#include "tools/process_limits.h"

#include <sys/resource.h>

#include <spire/error.h>

namespace spire::tool {

namespace {

constexpr rlim_t kLeastStack = 512 << 10;  // bytes; a training step takes less than half of it
// A run opens about ten files at a time, and libraries of GPUs end the program where they cannot
// load their parts.
constexpr rlim_t kLeastFiles = 24;

void check_stack() {
  rlimit stack = {};
  if (getrlimit(RLIMIT_STACK, &stack) != 0 || stack.rlim_cur >= kLeastStack) return;
  fail(Category::device,
       "the limit on stacks is {} KiB (ulimit -s), and the program needs {}; type: ulimit -s 8192",
       stack.rlim_cur >> 10, kLeastStack >> 10);
}

void check_files() {
  rlimit files = {};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur >= kLeastFiles) return;
  fail(Category::device,
       "the limit on open files is {} (ulimit -n), and the program needs {}; type: ulimit -n 1024",
       files.rlim_cur, kLeastFiles);
}

}  // namespace

void check_process_limits() {
  check_stack();
  check_files();
}

}  // namespace spire::tool
