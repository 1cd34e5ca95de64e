// Divides the update among the devices of a run: the weights that each updates, the members that
// need the summed gradients, and the way of updated weights to every member.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include <spire/run_config.h>

#include "engine/collective/bucket_reducer.h"
#include "engine/collective/exchange.h"

namespace spire::inline update {

// parameter_device: one device updates all weights. mirrored: every device updates its own replica.
// sharded: every device updates its shard, and has the optimizer state of that alone.
using Strategy = RunConfig::Strategy;

// Facts that a strategy depends on. Devices and members are counted over all processes.
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
  virtual SumsTo sums_to() const = 0;  // members that receive the sums of gradients
  // False: the devices of a member write the replica of its front device; others are copies of it.
  virtual bool updates_every_replica() const { return false; }
  // True: the optimizer state is divided: it is gathered for checkpoints, as norms of tensors are.
  virtual bool shards_state() const { return false; }
  // Sends the updated weights from this member's front replica to those of all members, on
  // `stream`. One lane of each member calls it; not with a single member. Throws PeerLost.
  virtual void publish(float* weights, ShardExchange& shards, Stream& stream) const = 0;
};
std::unique_ptr<UpdateStrategy> make_update_strategy(Strategy strategy, const UpdateLayout& layout);

// Returns the share's part of every bucket; empty parts are left out.
std::vector<FloatRange> shards_of(const std::vector<FloatRange>& buckets, Share share);

}  // namespace spire::inline update
