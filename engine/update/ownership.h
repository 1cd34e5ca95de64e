// Who sums and who updates which floats of the flat buffers: facts that all ranks know alike. A
// member of a run: a GPU with all its logical devices, or the CPU devices of a process. Members get
// each other's data in messages (exchange.h).
#pragma once
#include <cstdint>
#include <vector>

#include <spire/run_config.h>

#include "engine/update/tree.h"

namespace spire {

// parameter_device: one device updates all weights. mirrored: every device updates its own replica.
// sharded: every device updates its shard, and keeps the optimizer state of only that shard (ZeRO
// stage 2, Rajbhandari et al. 2020, within what a member holds).
using Strategy = RunConfig::Strategy;

struct Share {                     // contiguous devices: of a process, of a member, or one device
  int begin = 0, end = 0, of = 1;  // devices [begin, end) of the run's `of` devices
  int size() const { return end - begin; }
};

// Returns the part of each range that belongs to the share (see share_of()), without empty parts.
std::vector<FloatRange> shards_of(const std::vector<FloatRange>& ranges, Share share);

// Buckets: cuts of the flat gradient buffer. Each is exchanged as soon as its last gradient is
// written, while backward goes on.
// Cuts `total` floats into buckets of `floats`; the first has `first` floats, so that reduction
// starts early. Sizes are rounded up: buckets begin at multiples of TreeSum::chunk (tree.h).
std::vector<FloatRange> make_buckets(int64_t total, int64_t first, int64_t floats);
// The same in the sizes of the config, for members of this kind. Between GPUs a small message costs
// mostly its start, so buckets grow with the number of shards.
std::vector<FloatRange> make_buckets(int64_t total, const BucketConfig& config, DeviceKind kind,
                                     int members);

// Members [begin, end), GPUs of one process that read each other's memory; a member may be alone.
struct PeerRange {
  int begin = 0, end = 1;
  int size() const { return end - begin; }
  bool has(int member) const { return begin <= member && member < end; }
  // The one of them that sums or passes on what `member` is to get: itself if it is one of them.
  int relay(int member) const { return has(member) ? member : begin + member % size(); }
};

struct Ownership {
  struct Member {
    Share devices;
    TowerRange towers;
    PeerRange peers;  // itself included
  };
  Strategy strategy = Strategy::parameter_device;
  Reduction reduction = Reduction::invariant;
  int towers = 1, devices = 1, parameter_device = 0;
  int root = 0;  // the member to which the parameter device belongs
  std::vector<Member> members;
  std::vector<FloatRange> buckets;  // ranges of the flat gradient buffer
  int64_t trained = 0;              // floats of gradients; sums of running statistics follow
  // Whether the gradients of each tower are rounded to bf16 before they are added up: of a node of
  // one tower a message then has half the bytes.
  bool rounds_to_bf16 = false;

  // False: the devices of a member update its front device's replica; the others are copied.
  bool updates_every_replica() const { return strategy == Strategy::mirrored; }
  // True: each device has only a part of the optimizer state, so checkpoints gather it, and members
  // exchange norms of tensors.
  bool shards_state() const { return strategy == Strategy::sharded; }

  int64_t floats() const { return buckets.empty() ? 0 : buckets.back().end; }
  PeerRange peers_of(int member) const { return members[static_cast<size_t>(member)].peers; }
  // Whether sums over several members are the transport's own (Reduction::native without peers).
  bool uses_all_reduce() const;
  std::vector<TowerRange> nodes(int member) const;  // tree nodes that its peers' towers make up
  bool sends_bf16(TowerRange node) const { return rounds_to_bf16 && node.size() == 1; }
  FloatRange shard(size_t bucket, int member) const;  // the part that the member sums for all
  // What the member sums over the towers of its peers: its shard, and shards of members that are
  // none of them. In order; neighbours are one range.
  std::vector<FloatRange> summed_for_peers(size_t bucket, int member) const;
  std::vector<FloatRange> updated_by(Share share) const;  // in order; neighbours are one range
  // Return one entry per member: its shards; and the chunks of trained floats in its shards, as
  // ranges of chunk indices.
  std::vector<std::vector<FloatRange>> shards_of_members() const;
  std::vector<std::vector<FloatRange>> chunks_of_members() const;
};

}  // namespace spire
