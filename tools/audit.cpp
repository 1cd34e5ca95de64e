// trainer audit: checks the chain of a run, and replays parts of it.
#include <random>

#include <spire/commands/audit.h>
#include <spire/error.h>
#include <spire/text.h>

#include "tools/commands.h"
#include "tools/output/streams.h"

namespace spire::tool {
namespace {

std::vector<AuditSegment> segments_of(AuditedRun& run, const AuditArguments& given) {
  if (given.steps > 0 && !given.from && given.random == 0)
    fail(Category::config, "--steps: nothing is replayed without --from or --random");
  if (given.from) return {run.segment(*given.from, given.steps)};
  if (given.random == 0) return {};
  uint64_t seed = given.seed ? *given.seed : std::random_device()();
  print_result("segments chosen at random, by --choice {}\n", seed);
  return run.random_segments(given.random, given.steps, seed);
}

// Returns whether all is well.
bool print_check(const RecordAudit& check) {
  for (const std::string& problem : check.problems) print_result("{}\n", problem);
  if (!check.problems.empty()) return false;
  print_result("the chain is whole: {} up to step {}, {} and {} fit\nchain {}\n",
               counted(check.steps, "step"), check.last, counted(check.checkpoints, "checkpoint"),
               counted(check.metrics, "line") + " of metrics.jsonl", check.chain);
  return true;
}

}  // namespace

int run_audit(const Arguments& arguments) {
  AuditedRun run(arguments.audit.run, arguments.overrides);
  bool good = print_check(run.check());
  if (!good) return 1;  // a replay of records that were changed proves nothing
  for (AuditSegment segment : segments_of(run, arguments.audit)) {
    ReplayAudit replay = run.replay(segment);
    result_text(replay.text);
    good = good && replay.passed;
  }
  return good ? 0 : 1;
}

}  // namespace spire::tool
