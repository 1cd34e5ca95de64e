// Which keys of a config decide the bits of its run, and with which values: what auto stands for
// counts, and keys that change nothing there do not.
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

// What a config does not say of its run.
struct BitContext {
  bool on_cpus = false;                           // false also where it is not known
  std::optional<Task> task = {};                  // of the model and the data; none: not known
  std::optional<Metric> metric = {};              // the task's
  std::map<std::string, std::string> found = {};  // DatasetPair::found
};
BitContext bit_context(const RunSetup& setup);

// Replaces auto by what it stands for with a task of that metric.
void settle_best(Metric by_task, BestConfig& best);

class BitKeys {
 public:
  BitKeys(RunConfig config, BitContext context);

  // Whether changing this key changes the bits that a run computes.
  bool decide(const Field& field) const;
  std::string value(const Field& field) const;  // its text; of auto, that for which it stands

 private:
  RunConfig config_;
  BitContext context_;
};

struct BitDifference {
  const Field* field;
  std::string a, b;  // the values
};
// The keys that decide the bits of one of the two.
std::vector<BitDifference> differences(const BitKeys& a, const BitKeys& b);

}  // namespace spire
