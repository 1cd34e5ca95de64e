#include "process_limits.h"

#include <spire/base/error.h>
#include <sys/resource.h>

namespace spire::tool {

namespace {

constexpr rlim_t kLeastStack = 512 << 10;  // bytes; a training step takes less than half of it

}  // namespace

void check_process_limits() {
  rlimit stack = {};
  if (getrlimit(RLIMIT_STACK, &stack) != 0 || stack.rlim_cur >= kLeastStack) return;
  fail(Category::device,
       "the limit on stacks is {} KiB (ulimit -s), and the program needs {}; type: ulimit -s 8192",
       stack.rlim_cur >> 10, kLeastStack >> 10);
}

}  // namespace spire::tool
