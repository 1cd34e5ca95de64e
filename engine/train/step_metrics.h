// The numbers of one step that the host reads: losses, scores, stop requests, squares of gradients,
// and what the devices did. The lanes' streams write losses, scores and squares, and record events
// after them.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "engine/data/loader.h"
#include "engine/device/stream.h"
#include "engine/train/device_set.h"
#include "engine/train/lane_clock.h"
#include "engine/train/tower_runner.h"
#include "engine/update/parameter_update.h"

namespace spire {

struct StepMetrics {
  // fp64: per tower a loss and a score, per rank a stop, DeviceNumbers per device of the run and,
  // on GPUs (pinned), squares per chunk.
  std::unique_ptr<DeviceMemory> memory;
  TowerSums sums;                 // one entry per tower of the run
  std::span<double> stops;        // one per rank; not 0: that rank asks all to stop
  std::span<double> devices;      // DeviceNumbers one after another
  std::span<double> shared;       // sums, stops and devices, which processes exchange
  std::span<double> squares;      // one per chunk (TreeSum::chunk floats) of the summed gradient
  int64_t step = 0, samples = 0;  // step counts from 1; valid samples of the global batch
  double lr = 0;
  bool judged = false;    // the ranks have shared the numbers, and StepJudge has seen them
  bool rejected = false;  // the step has changed no weight
  double waited = 0;      // seconds: the devices had no work, as the host waited for the batch
  double judging = 0;     // seconds of the judge, for which the lanes wait
  // One per lane: events after its towers (timed) and after the whole step, and its clock.
  std::vector<std::unique_ptr<Event>> towers_done, step_done;
  std::vector<LaneClock> clocks;

  // device_squares: GradientStage::squares() of the first member. On CPUs `squares` is the same
  // memory; on GPUs it is a host copy, which lane 0 makes.
  void allocate(DeviceSet& set, std::span<double> device_squares);

  double gradient_norm() const;  // norm of the averaged gradient, times the loss scale
  bool any_stop() const;
  // Means over lanes; the judge's time is in no part. REQUIRES: all streams have reached step_done.
  StepTimes times() const;
  // Returns the milliseconds until the towers of a device of this process were done, the slowest
  // lane's. REQUIRES: its streams have reached towers_done.
  double arrival_ms(const PlacedDevice& device) const;
  // Returns how long the device's lanes wait for its slowest lane, on average.
  double lane_wait_ms(const PlacedDevice& device) const;
  // Reduces `waited` to the time in which the devices had no work, from the end of the step before
  // to the beginning of this one: while the host waited, they may have worked on that step. before:
  // its metrics. REQUIRES: the streams have reached LaneClock::begun().
  void cut_wait(const StepMetrics& before);

  // Returns for each entry of `shared` the rank that knows it, for HostAllGather.
  static std::vector<int> owners(const Placement& placement);
};

// What the lanes need for one step or one evaluated batch; lives until the last lane is done.
struct StepJob {
  const Batch& batch;
  StepMetrics& metrics;
  StepContext context = {};           // numbers that kernels read
  ParameterUpdate::Step update = {};  // training steps only
  OutputObserver* outputs = nullptr;  // sees the outputs of evaluated batches; may be null
};

}  // namespace spire
