// The update on CPUs: one pass over the weights, chunk by chunk, with what is needed of them in the
// cache. Of a chunk a lane takes the summed gradients and updates the weights; where no other
// process has to get them first, it also copies them to the other replicas, and packs whatever has
// got all its weights.
#pragma once
#include <vector>

#include "engine/train/device_set.h"
#include "engine/train/gradient_stage.h"
#include "engine/update/cpu_update.h"

namespace spire {

// A lane's share of the packing of one device's weights: what it can pack while it updates, and its
// part of the units that read weights of several lanes.
class PackingShare {
 public:
  // Divides all units among the lanes of which lane i updates the plain weights `updated[i]`. A
  // unit whose weights one lane updates is packed by that lane; the others are dealt out evenly.
  static std::vector<PackingShare> divide(const PackedWeights& forms,
                                          const std::vector<FloatRange>& updated);

  void begin() { next_ = 0; }  // a new step
  // Packs the units whose last weight is the lane's and before `at`. Allocates nothing.
  void pack_before(int64_t at, PackedWeights& forms, const float* weights, Stream& stream);
  // Packs the lane's part of the others. REQUIRES: all lanes have updated their weights.
  void pack_shared(PackedWeights& forms, const float* weights, Stream& stream) const;

 private:
  std::vector<PackedWeights::Unit> own_, shared_;  // own_: in the order in which they end
  size_t next_ = 0;                                // index into own_
};

// Thread ownership: each lane calls the methods for itself.
class CpuPass {
 public:
  // Lanes that divide weights of one replica among them.
  struct Group {
    std::vector<FloatRange> ranges;  // that this process updates, beginning at chunks
    int lanes = 0;
    std::vector<CpuUpdate*> updates;  // each updates the weights of `updated` that it owns
    Replica* updated = nullptr;
    // `updated` and its copies, which the pass keeps like it and packs. Empty: others do so.
    std::vector<Replica*> replicas;
  };
  // groups: in the order of their lanes. REQUIRES: a group with replicas has one range at most.
  CpuPass(DeviceSet& devices, GradientStage& gradients, std::vector<Group> groups);

  // The lane's chunks. REQUIRES: GradientStage::train() has returned on this lane; for update() of
  // a layer-wise optimizer, all lanes have measured.
  void measure(int lane, const ParameterUpdate::Step& step);
  void update(int lane, const ParameterUpdate::Step& step);
  void swap_average(int lane);
  // Packs units that read weights of several lanes. REQUIRES: all lanes met after update().
  void finish(int lane);

 private:
  struct Lane {
    std::vector<FloatRange> ranges;
    const Group* group;                       // in groups_
    std::vector<PackingShare> packing;        // one per replica
    std::vector<CpuUpdate::ChunkStep> steps;  // one per update
  };
  void add_lanes(const Group& group);
  Lane& begin(int lane, const ParameterUpdate::Step& step);
  void replicate(int lane, FloatRange chunk);

  DeviceSet& devices_;
  GradientStage& gradients_;
  const std::vector<Group> groups_;
  std::vector<Lane> lanes_;
};

}  // namespace spire
