#include "engine/train/cpu_pass.h"

#include <algorithm>
#include <utility>

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

CpuPass::CpuPass(DeviceSet& devices, GradientStage& gradients, std::vector<Group> groups)
    : devices_(devices), gradients_(gradients), groups_(std::move(groups)) {
  for (const Group& group : groups_) add_lanes(group);
}

// Divides each range of the group among its lanes.
void CpuPass::add_lanes(const Group& group) {
  size_t first = lanes_.size();
  std::vector<FloatRange> updated;  // of each lane, for the packing: it then has one range
  for (int i = 0; i < group.lanes; ++i) {
    Lane& lane =
        lanes_.emplace_back(Lane{.ranges = {}, .group = &group, .packing = {}, .steps = {}});
    for (FloatRange range : group.ranges)
      lane.ranges.push_back(share_of(range, i, i + 1, group.lanes));
    lane.steps.resize(group.updates.size());
    updated.push_back(lane.ranges.empty() ? FloatRange{} : lane.ranges.front());
  }
  for (Replica* replica : group.replicas) {
    auto packing = PackingShare::divide(replica->forms, updated);
    for (size_t i = 0; i < packing.size(); ++i)
      lanes_[first + i].packing.push_back(std::move(packing[i]));
  }
}

CpuPass::Lane& CpuPass::begin(int lane, const ParameterUpdate::Step& step) {
  Lane& own = lanes_[static_cast<size_t>(lane)];
  for (size_t u = 0; u < own.steps.size(); ++u)
    own.steps[u] = own.group->updates[u]->chunk_step(step);
  for (PackingShare& packing : own.packing) packing.begin();
  return own;
}

void CpuPass::measure(int lane, const ParameterUpdate::Step& step) {
  Lane& own = begin(lane, step);
  for (FloatRange range : own.ranges) {
    for_chunks(range, [&](FloatRange chunk) {
      const float* sums = gradients_.sum_chunk(lane, chunk);
      for (size_t u = 0; u < own.steps.size(); ++u)
        own.group->updates[u]->measure(chunk, sums, own.steps[u]);
    });
  }
}

void CpuPass::update(int lane, const ParameterUpdate::Step& step) {
  Lane& own = begin(lane, step);
  for (FloatRange range : own.ranges) {
    for_chunks(range, [&](FloatRange chunk) {
      const float* sums = gradients_.sum_chunk(lane, chunk);
      for (size_t u = 0; u < own.steps.size(); ++u)
        own.group->updates[u]->update(chunk, sums, own.steps[u]);
      replicate(lane, chunk);
    });
  }
}

void CpuPass::replicate(int lane, FloatRange chunk) {
  Lane& own = lanes_[static_cast<size_t>(lane)];
  const float* updated = own.group->updated->values();
  for (size_t r = 0; r < own.packing.size(); ++r) {
    Replica& replica = *own.group->replicas[r];
    if (&replica != own.group->updated)
      std::copy(updated + chunk.begin, updated + chunk.end, replica.values() + chunk.begin);
    own.packing[r].pack_before(chunk.end, replica.forms, replica.values(), devices_.stream(lane));
  }
}

void CpuPass::swap_average(int lane) {
  Lane& own = lanes_[static_cast<size_t>(lane)];
  for (FloatRange range : own.ranges) {
    for_chunks(range, [&](FloatRange chunk) {
      for (CpuUpdate* update : own.group->updates) update->swap_average(chunk);
    });
  }
}

void CpuPass::finish(int lane) {
  Lane& own = lanes_[static_cast<size_t>(lane)];
  for (size_t r = 0; r < own.packing.size(); ++r) {
    Replica& replica = *own.group->replicas[r];
    own.packing[r].pack_shared(replica.forms, replica.values(), devices_.stream(lane));
  }
}

}  // namespace spire
