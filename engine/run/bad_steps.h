// What a run does about a bad step (GuardConfig): reports where it comes from, and stops, leaves
// the step out, or goes back to a checkpoint. All ranks do the same.
#pragma once
#include <cstdint>
#include <string>

#include "engine/data/loader.h"
#include "engine/run/guard.h"
#include "engine/run/run_checkpoints.h"
#include "engine/run/run_context.h"

namespace spire {

class BadSteps {
 public:
  BadSteps(RunContext& run, RunCheckpoints& checkpoints) : run_(run), checkpoints_(checkpoints) {}

  void start();  // restores the guard's state if the run is resumed; installs the judge

  // Takes the result of the step that has just ended, and its batch (of `data`), which still holds
  // the step's samples. Returns true if the step is bad and the run goes on. Throws SymmetricError
  // (diverged) if it stops.
  bool take(const StepOutcome& result, const Batch& batch, const BatchLoader& data);

 private:
  std::string locate(const StepOutcome& result, const Batch& batch, const BatchLoader& data);
  std::string how_to_locate() const;
  std::string first_bad_weight() const;
  std::string first_of_all(const std::string& mine) const;
  std::string first_bad_tensor(const StepOutcome& result, const Batch& batch,
                               const BatchLoader& data);
  std::string samples_of(int tower, const Batch& batch, const BatchLoader& data) const;
  [[noreturn]] void stop(const StepOutcome& result, const std::string& problem,
                         const std::string& reason);
  void roll_back(const StepOutcome& result, int64_t target, const std::string& problem);

  RunContext& run_;
  RunCheckpoints& checkpoints_;
};

}  // namespace spire
