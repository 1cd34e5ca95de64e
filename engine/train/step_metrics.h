// Numbers of one step that the host reads: losses, scores, stop requests and squares of gradients,
// written by the lanes' streams, and the events that mark them.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "engine/data/loader.h"
#include "engine/device/stream.h"
#include "engine/train/device_set.h"
#include "engine/train/tower_runner.h"
#include "engine/update/parameter_update.h"

namespace spire::inline training {

struct StepMetrics {
  // Pinned on GPUs: [loss of each tower][score of each][stop of each rank][squares of each chunk].
  std::unique_ptr<DeviceMemory> memory;
  TowerSums sums;                 // fp64, one a tower of the run
  std::span<double> stops;        // one a rank; not 0: that rank asks all to stop
  std::span<double> shared;       // sums and stops, which processes exchange
  std::span<double> squares;      // of the summed gradient's chunks (TreeSum::chunk floats)
  int64_t step = 0, samples = 0;  // 1 for the first step; valid samples of the global batch
  double lr = 0;
  // One a lane: behind its towers, behind the reduction, and behind the whole step.
  std::vector<std::unique_ptr<Event>> towers_done, reduced, step_done;

  // device_squares: the first member's, read in place by the host of CPUs, else in lane 0's copy.
  void allocate(DeviceSet& devices, std::span<double> device_squares);

  double gradient_norm() const;  // of the summed, scaled gradient
  bool any_stop() const;
  double exposed_seconds(DeviceSet& devices) const;  // reduction after the last lane's towers

  // Returns the ranks that know the entries of `shared`, for HostAllGather.
  static std::vector<int> owners(const Placement& placement);
};

// One step or evaluation as the lanes work on it; lives until the last lane is done with it.
struct StepJob {
  const Batch& batch;
  StepMetrics& metrics;
  StepContext context = {};           // for kernels
  ParameterUpdate::Step update = {};  // of a training step
};

}  // namespace spire::inline training
