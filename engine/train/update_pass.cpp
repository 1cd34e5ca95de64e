#include "engine/train/update_pass.h"

#include <algorithm>
#include <utility>

#include <spire/error.h>

namespace spire {

UpdatePass::UpdatePass(DeviceSet& devices, GradientStage& gradients, int64_t floats,
                       std::vector<Group> groups)
    : devices_(devices), gradients_(gradients), groups_(std::move(groups)) {
  for (const Group& group : groups_) {
    for (const HostUpdate* update : group.updates)
      require(update->weights() == group.updated->values(), "an update of another replica");
    add_lanes(group, floats);
  }
}

// Divides the flat buffer among the lanes of a group.
void UpdatePass::add_lanes(const Group& group, int64_t floats) {
  std::vector<FloatRange> ranges;
  for (int i = 0; i < group.lanes; ++i)
    ranges.push_back(share_of({0, floats}, i, i + 1, group.lanes));
  size_t first = lanes_.size();
  for (FloatRange range : ranges) {
    Lane& lane =
        lanes_.emplace_back(Lane{.range = range, .group = &group, .packing = {}, .steps = {}});
    lane.steps.resize(group.updates.size());
  }
  for (Replica* replica : group.replicas) {
    auto packing = PackingShare::divide(replica->forms, ranges);
    for (size_t i = 0; i < packing.size(); ++i)
      lanes_[first + i].packing.push_back(std::move(packing[i]));
  }
}

bool UpdatePass::suits(const Placement& placement, const OptimizerConfig& optimizer) {
  bool on_cpus = placement.lanes[0].device.kind == DeviceKind::cpu;
  return on_cpus && placement.members.size() == 1 && !is_layerwise(optimizer);
}

// Where several devices update their own replicas, each needs all sums.
bool UpdatePass::sums_in_update(const Placement& placement, const OptimizerConfig& optimizer) {
  bool shared = placement.strategy != Strategy::mirrored || placement.devices.size() == 1;
  return suits(placement, optimizer) && shared && optimizer.clip_norm == 0;
}

void UpdatePass::run(int lane, const ParameterUpdate::Step& step) {
  Lane& own = lanes_[static_cast<size_t>(lane)];
  const Group& group = *own.group;
  const float* updated = group.updated->values();
  for (size_t u = 0; u < own.steps.size(); ++u) own.steps[u] = group.updates[u]->chunk_step(step);
  for (PackingShare& packing : own.packing) packing.begin();
  FloatRange chunk{own.range.begin, own.range.begin};
  while (chunk.begin < own.range.end) {
    chunk.end = std::min(own.range.end, chunk.begin + TreeSum::chunk);
    const float* sums = gradients_.sum_chunk(lane, chunk);
    for (size_t u = 0; u < own.steps.size(); ++u)
      group.updates[u]->update_chunk(chunk, sums, own.steps[u]);
    for (size_t r = 0; r < group.replicas.size(); ++r) {
      Replica& replica = *group.replicas[r];
      if (&replica != group.updated)
        std::copy(updated + chunk.begin, updated + chunk.end, replica.values() + chunk.begin);
      own.packing[r].pack_before(chunk.end, replica.forms, replica.values(), devices_.stream(lane));
    }
    chunk.begin = chunk.end;
  }
}

void UpdatePass::finish(int lane) {
  Lane& own = lanes_[static_cast<size_t>(lane)];
  for (size_t r = 0; r < own.packing.size(); ++r) {
    Replica& replica = *own.group->replicas[r];
    own.packing[r].pack_shared(replica.forms, replica.values(), devices_.stream(lane));
  }
}

}  // namespace spire
