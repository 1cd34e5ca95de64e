// trainer audit: checks the chain of a run, and replays parts of it.
#include <random>
#include <string>

#include <spire/error.h>

#include "engine/base/text.h"
#include "tools/audit/audit.h"
#include "tools/commands.h"
#include "tools/output/streams.h"

namespace spire {
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

// Returns whether replays reach all steps.
bool print_unreachable(const RecordAudit& check) {
  if (check.unreachable.empty()) return true;
  int64_t steps = 0;
  std::string places;
  for (auto [from, to] : check.unreachable) {
    steps += to - from;
    places += places.empty() ? "" : ", ";
    places += to == from + 1 ? std::to_string(to) : fmt::format("{} to {}", from + 1, to);
  }
  print_result("no replay reaches {}: {}\n", counted(steps, "step"), places);
  return false;
}

// All that was replayed is equal, but a part of the run cannot be.
constexpr int not_all_reached = 9;

}  // namespace

int run_audit(const Arguments& arguments) {
  AuditedRun run(arguments.audit.run, arguments.overrides);
  RecordAudit check = run.check();
  bool good = print_check(check);
  if (!good) return 1;  // a replay of records that were changed proves nothing
  bool replays = arguments.audit.from || arguments.audit.random > 0;
  bool all = print_unreachable(check) || !replays;
  for (AuditSegment segment : segments_of(run, arguments.audit)) {
    ReplayAudit replay = run.replay(segment);
    result_text(replay.text);
    good = good && replay.passed;
  }
  if (!good) return 1;
  return all ? 0 : not_all_reached;
}

}  // namespace spire
