// The update on CPUs whose run is one process: a single pass over the weights, chunk by chunk, with
// what is needed of them in the cache. Of a chunk a lane takes the summed gradients, updates the
// weights, copies them to the other replicas, and packs whatever has got all its weights.
#pragma once
#include <vector>

#include "engine/train/device_set.h"
#include "engine/train/gradient_stage.h"
#include "engine/update/host_update.h"
#include "engine/update/packing_share.h"

namespace spire::inline training {

// Thread ownership: each lane calls run() and finish() for itself.
class UpdatePass {
 public:
  // What a lane works on. Lanes that share an update divide the flat buffer among them.
  struct Lane {
    FloatRange range;                   // in whole chunks
    std::vector<HostUpdate*> updates;   // each updates the weights that it owns
    std::vector<Replica*> replicas;     // the first is updated, the others are copied
    std::vector<PackingShare> packing;  // one per replica
  };
  UpdatePass(DeviceSet& devices, GradientStage& gradients, std::vector<Lane> lanes);

  // Whether a run can be updated so: no trust ratio is needed before the update of a tensor.
  static bool suits(const Placement& placement, const OptimizerConfig& optimizer);
  // Whether each sum is taken once, and no norm is needed first (GradientReduction::take).
  static bool takes_sums_at_once(const Placement& placement, const OptimizerConfig& optimizer);

  // Updates the lane's range. REQUIRES: GradientStage::train() has returned on this lane.
  void run(int lane, const ParameterUpdate::Step& step);
  void finish(int lane);  // packs the rest. REQUIRES: all lanes met after run()

 private:
  DeviceSet& devices_;
  GradientStage& gradients_;
  std::vector<Lane> lanes_;
  std::vector<std::vector<HostUpdate::ChunkStep>> steps_;  // per lane, one per update
};

}  // namespace spire::inline training
