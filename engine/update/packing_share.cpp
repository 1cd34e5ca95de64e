#include "engine/update/packing_share.h"

#include <algorithm>

namespace spire {

using Unit = PackedWeights::Unit;

std::vector<PackingShare> PackingShare::divide(const PackedWeights& forms,
                                               const std::vector<FloatRange>& updated) {
  std::vector<PackingShare> shares(updated.size());
  std::vector<Unit> shared_units;
  for (const Unit& unit : forms.step_units()) {
    auto lane = std::find_if(updated.begin(), updated.end(), [&](FloatRange range) {
      return unit.begin >= range.begin && unit.end <= range.end;
    });
    if (lane == updated.end())
      shared_units.push_back(unit);
    else
      shares[static_cast<size_t>(lane - updated.begin())].own_.push_back(unit);
  }
  for (size_t i = 0; i < shared_units.size(); ++i)
    shares[i * shares.size() / shared_units.size()].shared_.push_back(shared_units[i]);
  for (PackingShare& share : shares)
    std::stable_sort(share.own_.begin(), share.own_.end(),
                     [](const Unit& a, const Unit& b) { return a.end < b.end; });
  return shares;
}

void PackingShare::pack_before(int64_t at, PackedWeights& forms, const float* weights,
                               Stream& stream) {
  for (; next_ < own_.size() && own_[next_].end <= at; ++next_)
    forms.pack(own_[next_], weights, stream);
}

void PackingShare::pack_shared(PackedWeights& forms, const float* weights, Stream& stream) const {
  for (const Unit& unit : shared_) forms.pack(unit, weights, stream);
}

}  // namespace spire
