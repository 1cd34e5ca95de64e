// trainer audit: checks the chain of a run, and replays parts of it.
#include <random>

#include <spire/error.h>

#include "engine/base/message_words.h"
#include "engine/run/audit/audit_run.h"
#include "tools/commands.h"
#include "tools/output/streams.h"

namespace spire::tool {
namespace {

std::vector<AuditSegment> segments_of(RunAuditor& auditor, const AuditArguments& given) {
  if (given.steps > 0 && !given.from && given.random == 0)
    fail(Category::config, "--steps: nothing is replayed without --from or --random");
  if (given.from) return {auditor.segment(*given.from, given.steps)};
  if (given.random == 0) return {};
  uint64_t seed = given.seed ? *given.seed : std::random_device()();
  print_result("segments chosen at random, by --choice {}\n", seed);
  return auditor.random_segments(given.random, given.steps, seed);
}

// Returns whether all is well.
bool print_check(const RunAuditor& auditor) {
  const AuditLog& log = auditor.log();
  RunCheck check = auditor.check();
  for (const std::string& problem : check.problems) print_result("{}\n", problem);
  if (!check.problems.empty()) return false;
  print_result("the chain is whole: {} up to step {}, {} and {} fit\nchain {}\n",
               counted(std::ssize(log.records), "step"), log.last,
               counted(check.checkpoints, "checkpoint"),
               counted(check.metrics, "line") + " of metrics.jsonl", log.values.at(log.last));
  return true;
}

}  // namespace

int run_audit(const Arguments& arguments) {
  RunAuditor auditor(arguments.audit.run, arguments.overrides);
  bool good = print_check(auditor);
  if (!good) return 1;  // a replay of records that were changed proves nothing
  for (AuditSegment segment : segments_of(auditor, arguments.audit)) {
    SegmentAudit audit = auditor.audit(segment);
    print_result("{}", to_text(audit));
    good = good && audit.passed();
  }
  return good ? 0 : 1;
}

}  // namespace spire::tool
