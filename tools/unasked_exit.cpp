#include "tools/unasked_exit.h"

#include <atomic>
#include <cstdlib>

#include <unistd.h>

#include <spire/error.h>

#include "engine/base/system_limits.h"
#include "tools/streams.h"

namespace spire::tool {

namespace {

// What atexit() calls is given nothing, so what it looks at must be static.
std::atomic<bool> in_main = false;

// Other threads still run: nothing is torn down under them.
void end_at_once() {
  if (!in_main) return;
  int code = static_cast<int>(Category::device);
  print_log(
      "error[{}]: a library ended the program, for the reason above; where that was a thread: {}\n",
      code, thread_limits());
  _exit(code);
}

}  // namespace

UnaskedExit::UnaskedExit() {
  if (std::atexit(end_at_once) == 0) in_main = true;
}

UnaskedExit::~UnaskedExit() {
  in_main = false;
}

}  // namespace spire::tool
