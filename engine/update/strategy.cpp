#include "engine/update/strategy.h"

#include <algorithm>
#include <array>

#include <spire/error.h>

namespace spire::inline update {
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
  SumsTo sums_to() const override { return SumsTo::slice_owners; }
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

struct Row {
  Strategy strategy;
  std::string_view name;
  std::unique_ptr<UpdateStrategy> (*make)(const UpdateLayout& layout);
};
constexpr std::array<Row, 3> strategies = {{
    {Strategy::parameter_device, "parameter_device", make<ParameterDevice>},
    {Strategy::mirrored, "mirrored", make<Mirrored>},
    {Strategy::sharded, "sharded", make<Sharded>},
}};

const Row& row_of(Strategy strategy) {
  return *std::find_if(strategies.begin(), strategies.end(),
                       [&](const Row& row) { return row.strategy == strategy; });
}

}  // namespace

std::string_view name(Strategy strategy) {
  return row_of(strategy).name;
}

Strategy parse_strategy(std::string_view word) {
  for (const Row& row : strategies) {
    if (row.name == word) return row.strategy;
  }
  fail(Category::config, "strategy: '{}' is none of parameter_device, mirrored and sharded", word);
}

std::unique_ptr<UpdateStrategy> make_update_strategy(Strategy strategy,
                                                     const UpdateLayout& layout) {
  return row_of(strategy).make(layout);
}

std::vector<FloatRange> shards_of(const std::vector<FloatRange>& buckets, Share share) {
  std::vector<FloatRange> shards;
  for (FloatRange bucket : buckets) {
    FloatRange shard = share_of(bucket, share.begin, share.end, share.of);
    if (shard.size() > 0) shards.push_back(shard);
  }
  return shards;
}

}  // namespace spire::inline update
