#include "engine/update/strategy.h"

#include <algorithm>
#include <array>

#include <spire/error.h>

namespace spire {
namespace {

// Reduced gradients go to the parameter device's member, which broadcasts the weights.
class ParameterDevice : public UpdateStrategy {
 public:
  explicit ParameterDevice(const UpdateLayout& layout) : layout_(layout) {}

  std::vector<FloatRange> owned(int device) const override {
    return device == layout_.parameter_device ? layout_.buckets : std::vector<FloatRange>{};
  }
  SumsTo sums_to() const override { return SumsTo::root; }
  void publish(float* weights, ShardExchange& shards, Stream& stream) const override {
    shards.broadcast(weights, stream, layout_.root);
  }

 private:
  UpdateLayout layout_;
};

// Reduced gradients go to everyone; all devices compute the same weights, so none are sent.
class Mirrored : public UpdateStrategy {
 public:
  explicit Mirrored(const UpdateLayout& layout) : layout_(layout) {}

  std::vector<FloatRange> owned(int) const override { return layout_.buckets; }
  SumsTo sums_to() const override { return SumsTo::everyone; }
  bool updates_every_replica() const override { return true; }
  void publish(float*, ShardExchange&, Stream&) const override {}

 private:
  UpdateLayout layout_;
};

// Each device gets the reduced gradients of its shard; updated shards are gathered (ZeRO stage 2,
// Rajbhandari et al. 2020, within what a member holds).
class Sharded : public UpdateStrategy {
 public:
  explicit Sharded(const UpdateLayout& layout) : layout_(layout) {}

  std::vector<FloatRange> owned(int device) const override {
    return shards_of(layout_.buckets, {device, device + 1, layout_.devices});
  }
  SumsTo sums_to() const override { return SumsTo::shard_owners; }
  bool shards_state() const override { return true; }
  void publish(float* weights, ShardExchange& shards, Stream& stream) const override {
    shards.all_gather(weights, stream);
  }

 private:
  UpdateLayout layout_;
};

template <typename T>
std::unique_ptr<UpdateStrategy> make(const UpdateLayout& layout) {
  return std::make_unique<T>(layout);
}

struct StrategyRow {
  Strategy strategy;
  std::unique_ptr<UpdateStrategy> (*make)(const UpdateLayout& layout);
};
constexpr std::array<StrategyRow, 3> strategies = {{
    {Strategy::parameter_device, make<ParameterDevice>},
    {Strategy::mirrored, make<Mirrored>},
    {Strategy::sharded, make<Sharded>},
}};

}  // namespace

std::unique_ptr<UpdateStrategy> make_update_strategy(Strategy strategy,
                                                     const UpdateLayout& layout) {
  const auto* row =
      std::find_if(strategies.begin(), strategies.end(),
                   [&](const StrategyRow& each) { return each.strategy == strategy; });
  require(row != strategies.end(), "strategy {} has no row", static_cast<int>(strategy));
  return row->make(layout);
}

std::vector<FloatRange> shards_of(const std::vector<FloatRange>& buckets, Share share) {
  std::vector<FloatRange> shards;
  for (FloatRange bucket : buckets) {
    // In whole chunks; of a short last bucket some devices get nothing.
    FloatRange shard = share_of(bucket, share.begin, share.end, share.of);
    if (shard.size() > 0) shards.push_back(shard);
  }
  return shards;
}

}  // namespace spire
