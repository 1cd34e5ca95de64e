// One tower's training step on one lane, run kernel by kernel, so that each kernel can be timed
// while caches, threads and data are as in training. A tower is one of the shares of a global
// batch; a lane is the thread that runs towers on its device.
#pragma once
#include <memory>
#include <vector>

#include "engine/data/loader.h"
#include "engine/train/batch_uploader.h"
#include "engine/train/device_set.h"
#include "engine/train/model_graph.h"
#include "tools/performance/op_work.h"

namespace spire {

// Thread ownership: the lane's thread calls all methods, the constructor included.
class TimedTower {
 public:
  struct Options {
    const GraphBuilder& build;
    const ParameterLayout& layout;
    bool recompute = false;  // activations of the model's blocks in backward
    uint64_t seed = 0;       // of random numbers
  };
  // Compiles the plan of the lane's first tower; devices outlive this. Throws what Plan throws.
  TimedTower(DeviceSet& devices, int lane, const Options& options);
  // Allocates arena and gradients. REQUIRES: the replica is allocated and holds the weights.
  // Throws Error(out_of_memory).
  void allocate();

  // Runs forward and backward, as the training step number `step` would, and waits for the device.
  // batch: this rank's. Gradients are computed, but neither summed nor applied.
  void run(const Batch& batch, int64_t step);

  const std::vector<OpWork>& work() const { return work_; }  // one entry per kernel
  // Returns the seconds that kernel `index` took in the last run.
  double seconds(size_t index) const;

 private:
  void bind(const Batch& batch, int64_t step);

  DeviceSet& devices_;
  int lane_, device_;
  Stream& stream_;
  Replica& replica_;
  uint64_t seed_;
  size_t gradient_floats_;
  std::vector<OpWork> work_;
  std::vector<size_t> row_bytes_;  // bytes per sample of each input
  std::unique_ptr<Plan> plan_;
  std::unique_ptr<DeviceMemory> arena_, gradients_;
  std::unique_ptr<BatchUploader> uploader_;
  Bindings bindings_;
  std::vector<std::unique_ptr<Event>> marks_;  // before the first kernel, and after each
};

}  // namespace spire
