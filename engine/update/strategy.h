// Divides the update among the devices of a run: which device updates which weights, which members
// need the summed gradients for that, and how updated weights reach every member.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include <spire/run_config.h>

#include "engine/collective/bucket_reducer.h"
#include "engine/collective/exchange.h"

namespace spire::inline update {

// parameter_device: one device updates all weights. mirrored: every device updates all weights of
// its own replica. sharded: every device updates its shard, and holds the optimizer state of that
// alone.
using Strategy = RunConfig::Strategy;

// The facts of a run that a strategy depends on. Devices and members are counted over all
// processes.
struct UpdateLayout {
  std::vector<FloatRange> buckets;  // of the flat gradient buffer
  int devices = 1;
  int parameter_device = 0;
  int root = 0;  // member that has the parameter device
};

// Immutable after construction; any thread may call it.
class UpdateStrategy {
 public:
  virtual ~UpdateStrategy() = default;

  // Ranges of the flat buffer that `device` updates, in order; empty: it updates nothing.
  virtual std::vector<FloatRange> owned(int device) const = 0;
  // Members that receive the sums of gradients.
  virtual SumsTo sums_to() const = 0;
  // True: each device writes its own replica. False: the devices of a member write the replica of
  // its front device, from which its other replicas are copied.
  virtual bool updates_every_replica() const { return false; }
  // True: the optimizer state is divided among the devices, so processes gather it for a checkpoint
  // and members exchange the norms of tensors.
  virtual bool shards_state() const { return false; }
  // Sends the updated weights, `weights` being this member's front replica, to the front replicas
  // of all members, on `stream`. One lane of each member calls it; not with a single member. Throws
  // PeerLost.
  virtual void publish(float* weights, ShardExchange& shards, Stream& stream) const = 0;
};
std::unique_ptr<UpdateStrategy> make_update_strategy(Strategy strategy, const UpdateLayout& layout);

// The share's part of every bucket; empty parts are left out.
std::vector<FloatRange> shards_of(const std::vector<FloatRange>& buckets, Share share);

}  // namespace spire::inline update
