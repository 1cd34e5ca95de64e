// The choices among engines that one run makes. A choice decides the bits of a result, so each is
// made once: where the run was begun it was recorded, else an earlier run on such a device has
// measured it, else it is measured now.
#pragma once
#include <optional>

#include "kernels/autotune/plan_store.h"
#include "kernels/autotune/tuning_choices.h"

namespace spire::inline kernels {

// Kernels are prepared one after another; used by one thread at a time.
class Tuning {
 public:
  struct Options {
    TuningChoices recorded = {};       // the run's own, from its checkpoint; they come first
    TuningChoices cached = {};         // of earlier runs
    std::filesystem::path plans = {};  // a folder of plans for what was chosen (PlanStore)
    bool measures = false;  // what is in neither; else the library's own first proposal is taken
  };
  explicit Tuning(Options options);

  // The engine for an operation, and from now on the run's; none where nothing was chosen.
  std::optional<std::string> find(const std::string& key);
  bool measures() const { return measures_; }

  // From now on the run's, in the place of one that cannot be used if one is there.
  // for_others: it was measured, so that later runs shall have it too.
  void keep(const std::string& key, const std::string& engine, bool for_others);
  // What another process has chosen for all.
  void adopt(const TuningChoices& chosen);

  // Where plans for what was chosen come from, and where they are counted.
  PlanStore& plans() { return plans_; }
  const PlanStore& plans() const { return plans_; }

  // All of the run, whether this device has used them or not: what is recorded.
  const TuningChoices& chosen() const { return chosen_; }
  const TuningChoices& measured() const { return measured_; }  // for later runs
  // Made here with nothing to choose from, or no memory to measure in.
  const TuningChoices& unrivalled() const { return unrivalled_; }
  // Now in the place of others that could not be used any more.
  const TuningChoices& replaced() const { return replaced_; }

 private:
  TuningChoices chosen_, cached_, measured_, unrivalled_, replaced_;
  PlanStore plans_;
  bool measures_;
};

}  // namespace spire::inline kernels
