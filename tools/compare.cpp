// trainer compare: says whether two runs are equal, and with --bisect where they begin to differ.
#include <spire/error.h>

#include "engine/run/compare/bisect_runs.h"
#include "tools/commands.h"
#include "tools/output/streams.h"

namespace spire::tool {

int run_compare(const Arguments& arguments) {
  const CompareArguments& given = arguments.compare;
  RunRecords a = read_run_records(given.runs.at(0), arguments.overrides);
  RunRecords b = read_run_records(given.runs.at(1), arguments.overrides);
  RecordComparison records = compare_records(a, b);
  print_result("{}", to_text(a, b, config_differences(a.config, b.config), records));
  if (records.steps == 0)
    fail(Category::config, "the runs record no step in common; set log.every_steps: 1 in both");
  bool equal = !records.first;
  if (given.bisect) {
    Bisection bisection = bisect(a, b);
    print_result("{}", to_text(bisection));
    equal = equal && !bisection.difference && bisection.deviation.empty();
  }
  return equal ? 0 : 1;
}

}  // namespace spire::tool
