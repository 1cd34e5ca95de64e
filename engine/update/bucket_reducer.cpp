#include "engine/update/bucket_reducer.h"

#include <algorithm>

namespace spire {

FloatRange BucketReducer::Options::shard(size_t bucket, int rank) const {
  const Share& share = ranks.share[static_cast<size_t>(rank)];
  return share_of(buckets[bucket], share.begin, share.end, share.of);
}

std::vector<std::vector<FloatRange>> BucketReducer::Options::chunk_shards(int64_t floats) const {
  std::vector<std::vector<FloatRange>> shards(ranks.share.size());
  for (size_t rank = 0; rank < shards.size(); ++rank) {
    for (size_t b = 0; b < buckets.size(); ++b) {
      FloatRange own = shard(b, static_cast<int>(rank));
      int64_t end = std::min(own.end, floats);
      if (own.begin >= end) continue;
      shards[rank].push_back({own.begin / TreeSum::chunk, TreeSum::chunks_of(end)});
    }
  }
  return shards;
}

BucketReducer::BucketReducer(const Options& options, std::vector<float*> nodes,
                             Communicator& exchange, Stream& stream, MemoryPool& memory,
                             ThreadStatus& status, int row)
    : options_(options),
      nodes_(std::move(nodes)),
      exchange_(exchange),
      stream_(stream),
      status_(status),
      row_(row),
      steps_(options.buckets.size()) {
  // Registered memory lets NCCL send and receive without a copy.
  int64_t floats = steps_.empty() ? 0 : options_.buckets.back().end;
  for (float* node : nodes_) exchange_.prepare(node, static_cast<size_t>(floats) * sizeof(float));
  if (options_.order == Reduction::native) return;
  staging_ = memory.allocate(MemoryKind::communication, staging_bytes(options_, exchange_.rank()));
  exchange_.prepare(staging_->data(), staging_->bytes());
  // All messages and trees are planned here, so that a step allocates nothing.
  float* staging = staging_->as<float>();
  int depth = 1;
  for (size_t b = 0; b < steps_.size(); ++b) {
    staging = plan(b, staging);
    plan_gather(b);
    depth = std::max(depth, steps_[b].tree->depth());
  }
  arithmetic_ = make_lane_arithmetic(stream_, depth);
}

BucketReducer::~BucketReducer() {
  for (float* node : nodes_) exchange_.forget(node);
  if (staging_) exchange_.forget(staging_->data());
}

size_t BucketReducer::staging_bytes(const Options& options, int rank) {
  if (options.order == Reduction::native) return 0;
  // A member receives its own shard of every bucket, once for each node of the others.
  size_t own = 0, theirs = 0;
  for (size_t b = 0; b < options.buckets.size(); ++b)
    own += static_cast<size_t>(options.shard(b, rank).size());
  for (size_t other = 0; other < options.ranks.towers.size(); ++other) {
    if (other != static_cast<size_t>(rank)) theirs += options.ranks.towers[other].size();
  }
  return own * theirs * sizeof(float);
}

// Plans the reduce-scatter of a bucket: each member sends the others their shards of its nodes, and
// adds up the nodes of its own shard along the tree. It sends and receives (R - 1) / R of the
// bucket. Messages between two members follow the order of the sender's nodes. Returns the end of
// the staging memory taken.
float* BucketReducer::plan(size_t bucket, float* staging) {
  Step& step = steps_[bucket];
  FloatRange own = shard(bucket);
  std::vector<TreeSum::Leaf> leaves;
  for (int rank = 0; rank < exchange_.size(); ++rank) {
    const auto& theirs = options_.ranks.towers[static_cast<size_t>(rank)];
    for (size_t n = 0; n < theirs.size(); ++n) {
      if (rank == exchange_.rank()) {
        leaves.push_back({theirs[n], nodes_[n], 0});
        continue;
      }
      // Only this member's shard is received, so the leaf's data begins there.
      leaves.push_back({theirs[n], staging, own.begin});
      step.scatter.receives.push_back(
          {rank, staging, static_cast<size_t>(own.size()) * sizeof(float)});
      staging += own.size();
    }
    if (rank == exchange_.rank()) continue;
    FloatRange part = options_.shard(bucket, rank);
    for (float* node : nodes_) {
      step.scatter.sends.push_back(
          {rank, node + part.begin, static_cast<size_t>(part.size()) * sizeof(float)});
    }
  }
  step.tree = std::make_unique<TreeSum>(options_.order, TowerRange{0, options_.towers}, leaves);
  return staging;
}

// Plans the messages that carry sums from the owners of shards to the members that update.
void BucketReducer::plan_gather(size_t bucket) {
  if (options_.to == SumsTo::shard_owners) return;
  Messages& gather = steps_[bucket].gather;
  auto bytes = [](FloatRange range) { return static_cast<size_t>(range.size()) * sizeof(float); };
  float* sums = nodes_[0];
  FloatRange own = shard(bucket);
  bool everyone = options_.to == SumsTo::everyone;
  for (int rank = 0; rank < exchange_.size(); ++rank) {
    if (rank == exchange_.rank()) continue;
    FloatRange part = options_.shard(bucket, rank);
    if (everyone || rank == options_.root)
      gather.sends.push_back({rank, sums + own.begin, bytes(own)});
    if (everyone || exchange_.rank() == options_.root)
      gather.receives.push_back({rank, sums + part.begin, bytes(part)});
  }
}

void BucketReducer::reduce(size_t bucket) {
  status_.enter(row_, Phase::bucket, static_cast<int64_t>(bucket));
  if (options_.order == Reduction::native) {
    FloatRange all = options_.buckets[bucket];
    status_.enter(row_, Phase::waiting, static_cast<int64_t>(bucket));
    exchange_.all_reduce(nodes_[0] + all.begin, all.size(), stream_);
  } else {
    run(bucket, steps_[bucket].scatter);
    arithmetic_->sum(*steps_[bucket].tree, shard(bucket), nodes_[0]);
    run(bucket, steps_[bucket].gather);
  }
  status_.enter(row_, Phase::idle);
}

void BucketReducer::run(size_t bucket, const Messages& messages) {
  if (messages.sends.empty() && messages.receives.empty()) return;
  status_.enter(row_, Phase::waiting, static_cast<int64_t>(bucket));
  exchange_.exchange(messages.sends, messages.receives, stream_);
  status_.enter(row_, Phase::bucket, static_cast<int64_t>(bucket));
}

}  // namespace spire
