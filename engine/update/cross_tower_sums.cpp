#include "engine/update/cross_tower_sums.h"

#include <algorithm>

namespace spire {

CrossTowerSums::CrossTowerSums(const Options& options) : options_(options) {
  const auto& ranks = options_.rank_towers;
  for (auto& rows : rows_) {
    rows = options_.memory->allocate(
        MemoryKind::workspace, static_cast<size_t>(ranks.back().end) * row_bytes(options_.counts));
  }
  for (int64_t count : options_.counts) {
    // A member's shard is the rows of its towers, which are neighbours.
    std::vector<std::vector<FloatRange>> shards;
    for (TowerRange towers : ranks) shards.push_back({{towers.begin * count, towers.end * count}});
    gathers_.try_emplace(count, shards, options_.exchange, sizeof(double));
  }
}

size_t CrossTowerSums::row_bytes(const std::vector<int64_t>& counts) {
  int64_t longest = counts.empty() ? 0 : *std::max_element(counts.begin(), counts.end());
  return static_cast<size_t>(longest) * sizeof(double);
}

size_t CrossTowerSums::bytes(const std::vector<int64_t>& counts, int towers) {
  return std::size(decltype(rows_){}) * static_cast<size_t>(towers) * row_bytes(counts);
}

double* CrossTowerSums::rows(size_t index) const {
  return rows_[index % std::size(rows_)]->as<double>();
}

// Meets twice: all rows of this member are written before they are sent, and all others' rows have
// come before any lane reads them.
void CrossTowerSums::meet(size_t index, int lane, int64_t count) {
  options_.joint->meet(lane);
  if (!options_.exchange) return;
  if (lane == options_.lane) gathers_.at(count).all_gather(rows(index), *options_.stream);
  options_.joint->meet(lane);
}

}  // namespace spire
