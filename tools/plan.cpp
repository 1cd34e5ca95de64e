// trainer plan: the memory that a run needs, without running it.
#include <spire/base/error.h>
#include <spire/train/run.h>

#include "commands.h"
#include "config_source.h"

namespace spire::tool {

int run_plan(const Arguments& arguments) {
  auto resolved = read_config(arguments);
  if (resolved) fmt::print("{}", to_text(plan(resolved->config)));
  return 0;
}

}  // namespace spire::tool
