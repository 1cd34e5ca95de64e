#include "tools/process/join_ranks.h"

#include <unistd.h>

#include "tools/output/streams.h"

namespace spire {

void end_process(const Failure& failure) {
  log_text(failure.table + "\n");
  print_log("error[{}]: {}\n", static_cast<int>(failure.category), failure.text);
  _exit(static_cast<int>(failure.category));
}

std::unique_ptr<World> join_ranks(const Launch& launch, const RunConfig& config) {
  if (launch.size == 1) return nullptr;
  return join_world(launch,
                    {.start_seconds = config.timeouts.start, .on_exit_timeout = end_process});
}

}  // namespace spire
