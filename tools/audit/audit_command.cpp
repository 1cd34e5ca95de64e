// trainer audit: checks the chain of a run, and replays parts of it.
#include <random>
#include <string>

#include <CLI/CLI.hpp>

#include "engine/base/fail.h"
#include "engine/base/text.h"
#include "tools/audit/audit_run.h"
#include "tools/commands.h"
#include "tools/common_options.h"
#include "tools/output/streams.h"

namespace spire {
namespace {

std::vector<AuditSegment> segments_of(RunAuditor& run, const AuditArguments& given) {
  if (given.steps > 0 && !given.from && given.random == 0)
    fail(Category::config, "--steps: nothing is replayed without --from or --random");
  if (given.from) return {run.segment(*given.from, given.steps)};
  if (given.random == 0) return {};
  uint64_t seed = given.seed ? *given.seed : std::random_device()();
  print_result("segments chosen at random, by --choice {}\n", seed);
  return run.random_segments(given.random, given.steps, seed);
}

// Returns whether all is well.
bool print_check(const AuditLog& log, const RunCheck& check) {
  for (const std::string& problem : check.problems) print_result("{}\n", problem);
  if (!check.problems.empty()) return false;
  print_result("the chain is whole: {} up to step {}, {} and {} fit\nchain {}\n",
               counted(std::ssize(log.records), "step"), log.last,
               counted(check.checkpoints, "checkpoint"),
               counted(check.metrics, "line") + " of metrics.jsonl", log.values.at(log.last));
  return true;
}

// Returns whether replays reach all steps.
bool print_unreachable(const std::vector<AuditSegment>& unreachable) {
  if (unreachable.empty()) return true;
  int64_t steps = 0;
  std::string places;
  for (auto [from, to] : unreachable) {
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

void add_audit_options(CLI::App& app, ParsedWords& words) {
  AuditArguments& a = words.arguments.audit;
  app.add_option("run", a.run, "directory of the run")->required()->type_name("RUN");
  auto* from =
      app.add_option("--from", a.from, "replay from here: the step of a checkpoint, 0, or a file");
  from->type_name("STEP|FILE");
  app.add_option("--random", a.random,
                 "replay M segments between kept checkpoints, chosen at random")
      ->check(positive_integer)
      ->excludes(from)
      ->type_name("M");
  app.add_option("--steps", a.steps, "replay at most N steps (of each segment)")
      ->check(positive_integer)
      ->type_name("N");
  app.add_option("--choice", a.seed, "seed of that choice; default: by chance, and printed")
      ->type_name("N");
  app.add_option("--set", words.set, "a config key for the replays, such as data.path=DIR")
      ->type_name("KEY.PATH=VALUE")
      ->allow_extra_args(false);
  app.footer(
      "Checks the chain of audit.jsonl against itself, the checkpoints and metrics.jsonl. With\n"
      "--from or --random it also trains these steps again, on the devices of the run's kind that\n"
      "are here, and compares each with its record to the last bit. It writes nothing. Exit code\n"
      "0: all is equal; 1: something was changed or differs; 9: what was replayed is equal, but\n"
      "some steps cannot be reached by a replay; 2: no audit was recorded, or wrong usage.\n"
      "docs/audit.md says what that proves.\n\n"
      "  trainer audit runs/a\n"
      "  trainer audit runs/a --from 2000 --steps 100\n"
      "  trainer audit runs/a --random 5 --set data.path=/copy\n");
}

int run_audit(const Arguments& arguments) {
  RunAuditor run(arguments.audit.run, arguments.overrides);
  bool good = print_check(run.log(), run.check());
  if (!good) return 1;  // a replay of records that were changed proves nothing
  bool replays = arguments.audit.from || arguments.audit.random > 0;
  bool all = print_unreachable(run.unreachable()) || !replays;
  for (AuditSegment segment : segments_of(run, arguments.audit)) {
    SegmentAudit replay = run.audit(segment);
    result_text(to_text(replay));
    good = good && replay.passed();
  }
  if (!good) return 1;
  return all ? 0 : not_all_reached;
}

}  // namespace spire
