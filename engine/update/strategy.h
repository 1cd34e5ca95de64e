// Divides the update among the devices of a run: which weights each device updates, which members
// (groups of devices, see exchange.h) receive summed gradients, and how new weights reach them all.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include <spire/run_config.h>

#include "engine/update/bucket_reducer.h"
#include "engine/update/exchange.h"

namespace spire {

// parameter_device: one device updates all weights. mirrored: every device updates its own replica.
// sharded: every device updates its shard, and keeps the optimizer state of only that shard.
using Strategy = RunConfig::Strategy;

// Facts that a strategy depends on. Devices and members are counted over all processes.
struct UpdateLayout {
  std::vector<FloatRange> buckets;  // ranges of the flat gradient buffer
  int devices = 1;                  // number of devices
  int parameter_device = 0;
  int root = 0;  // the member to which the parameter device belongs
};

// Immutable after construction; any thread may call it.
class UpdateStrategy {
 public:
  virtual ~UpdateStrategy() = default;

  // Ranges of the flat buffer that `device` updates, in order; empty: it updates nothing.
  virtual std::vector<FloatRange> owned(int device) const = 0;
  virtual SumsTo sums_to() const = 0;  // which members receive the sums of gradients
  // False: the devices of a member update its front device's replica; the others are copied.
  virtual bool updates_every_replica() const { return false; }
  // True: each device has only a part of the optimizer state, so checkpoints gather it, and members
  // exchange norms of tensors.
  virtual bool shards_state() const { return false; }
  // Sends updated weights, on `stream`, until the front replicas of all members have them. weights:
  // this member's. One lane per member calls it, if there are several members. Throws PeerLost.
  virtual void publish(float* weights, ShardExchange& shards, Stream& stream) const = 0;
};
std::unique_ptr<UpdateStrategy> make_update_strategy(Strategy strategy, const UpdateLayout& layout);

// Returns the part of each bucket that belongs to the share (see share_of()), without empty parts.
std::vector<FloatRange> shards_of(const std::vector<FloatRange>& buckets, Share share);

}  // namespace spire
