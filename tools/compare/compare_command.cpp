// trainer compare: says whether two runs are equal, and with --bisect where they begin to differ.
#include <spire/error.h>

#include "tools/commands.h"
#include "tools/compare/compare.h"
#include "tools/output/streams.h"

namespace spire {

int run_compare(const Arguments& arguments) {
  const CompareArguments& given = arguments.compare;
  ComparedRuns runs(given.runs.at(0), given.runs.at(1), arguments.overrides);
  RunComparison records = runs.compare_records();
  result_text(records.text);
  if (records.steps == 0)
    fail(Category::config, "the runs record no step in common; set log.every_steps: 1 in both");
  bool equal = records.equal;
  if (given.bisect) {
    RunComparison replay = runs.bisect();
    result_text(replay.text);
    equal = equal && replay.equal;
  }
  return equal ? 0 : 1;
}

}  // namespace spire
