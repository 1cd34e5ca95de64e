// Warnings about a run that may go on: changes since its checkpoint, doubtful libraries, small
// batches, broken samples.
#pragma once
#include <cstdint>
#include <map>

#include <spire/observer.h>

#include "engine/run/run_setup.h"

namespace spire::inline run {

// Warns of libraries of GPUs whose versions do not fit each other. CPUs' runs open none.
void warn_of_cuda_versions(const Placement& placement, Observer& observer);

// Warns of keys that the resumed checkpoint's run had with other values, and of libraries that it
// had in other versions: the result will differ. On rank 0, which has these of the checkpoint.
void warn_of_changes(const RunSetup& setup, Observer& observer);

// Warns where batch norm has only a few samples of a tower for its statistics.
void warn_of_small_batches(const RunSetup& setup, const ParameterLayout& layout,
                           Observer& observer);

// Warnings about samples that a dataset left out because they are broken, once each.
class SkippedSampleWarnings {
 public:
  void warn(const DatasetPair& data, Observer& observer);

 private:
  std::map<const Dataset*, int64_t> reported_;  // samples
};

}  // namespace spire::inline run
