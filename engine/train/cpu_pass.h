// The update on CPUs: one pass over the weights, chunk by chunk, so that a chunk's numbers stay in
// the cache. For each chunk a lane gets the summed gradients and updates the weights. In a run of
// one process it also copies the weights to the other replicas, and packs each unit whose weights
// are all updated.
#pragma once
#include <vector>

#include "engine/train/device_set.h"
#include "engine/train/gradient_stage.h"
#include "engine/update/cpu_update.h"

namespace spire {

// A lane's share of the packing of one device's weights: the units that it can pack while it
// updates, and its part of the units whose weights are updated by several lanes.
class PackingShare {
 public:
  // Divides all units among the lanes; lane i updates the plain weights `updated[i]`. A unit whose
  // weights one lane updates is packed by that lane; the others are dealt out evenly.
  static std::vector<PackingShare> divide(const PackedWeights& forms,
                                          const std::vector<FloatRange>& updated);

  void begin() { next_ = 0; }  // starts a step
  // Packs the units of this lane alone that end before weight `at` and are not yet packed in this
  // step. Allocates nothing.
  void pack_before(int64_t at, PackedWeights& forms, const float* weights, Stream& stream);
  // Packs the lane's part of the units of several lanes. REQUIRES: all lanes have updated their
  // weights.
  void pack_shared(PackedWeights& forms, const float* weights, Stream& stream) const;

 private:
  std::vector<PackedWeights::Unit> own_, shared_;  // own_: in the order in which they end
  size_t next_ = 0;                                // index into own_
};

// Thread ownership: each lane calls the methods for itself.
class CpuPass {
 public:
  // Lanes that together update the weights of one replica.
  struct Group {
    std::vector<FloatRange> ranges;  // of weights to update, beginning at chunks
    int lanes = 0;
    std::vector<CpuUpdate*> updates;  // each updates the weights of `updated` that it owns
    Replica* updated = nullptr;
    // `updated` and the replicas to which the pass copies its weights; the pass also packs all of
    // them. Empty: UpdateStage::publish() does both.
    std::vector<Replica*> replicas;
  };
  // groups: in the order of their lanes. REQUIRES: a group with replicas has one range at most.
  CpuPass(DeviceSet& devices, GradientStage& gradients, std::vector<Group> groups);

  // Each works on all chunks of the lane. measure() is for layer-wise optimizers alone. REQUIRES:
  // GradientStage::train() has returned on this lane; before update() of a layer-wise optimizer all
  // lanes have measured.
  void measure(int lane, const ParameterUpdate::Step& step);
  void update(int lane, const ParameterUpdate::Step& step);
  void swap_average(int lane);
  // Packs units whose weights several lanes update. REQUIRES: all lanes met after update().
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
