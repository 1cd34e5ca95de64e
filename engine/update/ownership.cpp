#include "engine/update/ownership.h"

#include <algorithm>

#include "engine/base/fail.h"

namespace spire {

namespace {

// Appends a range behind all others.
void join(std::vector<FloatRange>& joined, FloatRange range) {
  if (range.size() == 0) return;
  if (!joined.empty() && joined.back().end == range.begin)
    joined.back().end = range.end;
  else
    joined.push_back(range);
}

}  // namespace

std::vector<FloatRange> shards_of(const std::vector<FloatRange>& ranges, Share share) {
  std::vector<FloatRange> shards;
  for (FloatRange range : ranges) {
    // In whole chunks; of a short last range some devices get nothing.
    FloatRange shard = share_of(range, share.begin, share.end, share.of);
    if (shard.size() > 0) shards.push_back(shard);
  }
  return shards;
}

std::vector<FloatRange> make_buckets(int64_t total, int64_t first, int64_t floats) {
  require(total >= 0, "a gradient buffer of {} floats", total);
  std::vector<FloatRange> buckets;
  constexpr int64_t chunk = TreeSum::chunk;
  // Whole chunks, at least one.
  auto rounded = [](int64_t count) {
    return std::max<int64_t>(1, TreeSum::chunks_of(count)) * chunk;
  };
  int64_t size = rounded(first);
  for (int64_t begin = 0; begin < total; begin = buckets.back().end) {
    buckets.push_back({begin, std::min(total, begin + size)});
    size = rounded(floats);
  }
  return buckets;
}

std::vector<FloatRange> make_buckets(int64_t total, const BucketConfig& config, DeviceKind kind,
                                     int members) {
  auto floats = [](double mib) { return static_cast<int64_t>(mib * 1024 * 1024 / sizeof(float)); };
  double fitting = kind == DeviceKind::cpu ? 8 : std::clamp(4.0 * members, 25.0, 64.0);
  return make_buckets(total, floats(config.first_mib),
                      floats(config.mib > 0 ? config.mib : fitting));
}

bool Ownership::uses_all_reduce() const {
  return reduction == Reduction::native &&
         std::ranges::all_of(members, [](const Member& each) { return each.peers.size() == 1; });
}

std::vector<TowerRange> Ownership::nodes(int member) const {
  PeerRange peers = peers_of(member);
  return nodes_inside(reduction, towers,
                      {members[static_cast<size_t>(peers.begin)].towers.begin,
                       members[static_cast<size_t>(peers.end - 1)].towers.end});
}

std::vector<FloatRange> Ownership::summed_for_peers(size_t bucket, int member) const {
  PeerRange peers = peers_of(member);
  std::vector<FloatRange> joined;
  for (int owner = 0; owner < std::ssize(members); ++owner)
    if (peers.relay(owner) == member) join(joined, shard(bucket, owner));
  return joined;
}

FloatRange Ownership::shard(size_t bucket, int member) const {
  const Share& share = members[static_cast<size_t>(member)].devices;
  return share_of(buckets[bucket], share.begin, share.end, share.of);
}

std::vector<FloatRange> Ownership::updated_by(Share share) const {
  bool has_device = share.begin <= parameter_device && parameter_device < share.end;
  if (!shards_state() && !updates_every_replica() && !has_device) return {};
  std::vector<FloatRange> joined;
  for (FloatRange range : shards_state() ? shards_of(buckets, share) : buckets) join(joined, range);
  return joined;
}

std::vector<std::vector<FloatRange>> Ownership::shards_of_members() const {
  std::vector<std::vector<FloatRange>> all;
  for (const Member& member : members) all.push_back(shards_of(buckets, member.devices));
  return all;
}

std::vector<std::vector<FloatRange>> Ownership::chunks_of_members() const {
  std::vector<std::vector<FloatRange>> all = shards_of_members();
  for (auto& shards : all) {
    std::erase_if(shards, [&](FloatRange shard) { return shard.begin >= trained; });
    for (FloatRange& shard : shards)
      shard = {shard.begin / TreeSum::chunk, TreeSum::chunks_of(std::min(shard.end, trained))};
  }
  return all;
}

}  // namespace spire
