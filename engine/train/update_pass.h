// The update on CPUs whose run is one process: a single pass over the weights, chunk by chunk, with
// what is needed of them in the cache. Of a chunk a lane takes the summed gradients, updates the
// weights, copies them to the other replicas, and packs whatever has got all its weights.
#pragma once
#include <vector>

#include "engine/train/device_set.h"
#include "engine/train/gradient_stage.h"
#include "engine/update/host_update.h"
#include "engine/update/packing_share.h"

namespace spire {

// Thread ownership: each lane calls run() and finish() for itself.
class UpdatePass {
 public:
  // Lanes that divide the weights of one replica among them, and keep other replicas like it.
  struct Group {
    int lanes = 0;
    std::vector<HostUpdate*> updates;  // each updates the weights of `updated` that it owns
    Replica* updated = nullptr;
    std::vector<Replica*> replicas;  // `updated` and its copies
  };
  // groups: in the order of their lanes; floats: of the flat buffer of gradients.
  UpdatePass(DeviceSet& devices, GradientStage& gradients, int64_t floats,
             std::vector<Group> groups);

  // Whether a run can be updated so: no trust ratio is needed before the update of a tensor.
  static bool suits(const Placement& placement, const OptimizerConfig& optimizer);
  // Whether one lane alone needs each sum, and no norm is needed first, so that gradients are added
  // up here (GradientReduction::sum_chunk).
  static bool sums_in_update(const Placement& placement, const OptimizerConfig& optimizer);

  // Updates the lane's range. REQUIRES: GradientStage::train() has returned on this lane.
  void run(int lane, const ParameterUpdate::Step& step);
  // Packs units that read weights of several lanes. REQUIRES: all lanes met after run().
  void finish(int lane);

 private:
  struct Lane {
    FloatRange range;                          // in whole chunks
    const Group* group;                        // in groups_
    std::vector<PackingShare> packing;         // one per replica
    std::vector<HostUpdate::ChunkStep> steps;  // one per update
  };
  void add_lanes(const Group& group, int64_t floats);

  DeviceSet& devices_;
  GradientStage& gradients_;
  const std::vector<Group> groups_;
  std::vector<Lane> lanes_;
};

}  // namespace spire
