// Which keys of a config decide the bits of its run, and with which values. `auto` counts as the
// value that it stands for; keys that have no effect beside the other keys do not count.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <spire/metric.h>

#include "engine/config/schema.h"
#include "engine/run/run_setup.h"
#include "models/model.h"

namespace spire {

// Facts about a run that its config does not say.
struct BitContext {
  bool on_cpus = false;                           // false also where it is not known
  std::optional<Task> task = {};                  // of the model and the data; none: not known
  std::optional<Metric> metric = {};              // the task's
  std::map<std::string, std::string> found = {};  // DatasetPair::found
};
BitContext bit_context(const RunSetup& setup);

// Replaces auto by what it stands for. by_task: the metric of the run's task.
void settle_best(Metric by_task, BestConfig& best);

class BitKeys {
 public:
  BitKeys(RunConfig config, BitContext context);

  // Whether changing this key changes the bits that a run computes.
  bool decide(const Field& field) const;
  std::string value(const Field& field) const;  // as text; for auto what it stands for

 private:
  RunConfig config_;
  BitContext context_;
};

struct BitDifference {
  const Field* field;
  std::string a, b;  // the values
};
// Returns the keys whose values differ and that decide the bits of at least one of the two.
std::vector<BitDifference> differences(const BitKeys& a, const BitKeys& b);

}  // namespace spire
