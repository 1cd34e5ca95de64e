#include "engine/train/update_pass.h"

#include <algorithm>
#include <utility>

namespace spire::inline training {

UpdatePass::UpdatePass(DeviceSet& devices, GradientStage& gradients, std::vector<Lane> lanes)
    : devices_(devices), gradients_(gradients), lanes_(std::move(lanes)), steps_(lanes_.size()) {
  for (size_t l = 0; l < lanes_.size(); ++l) steps_[l].resize(lanes_[l].updates.size());
}

bool UpdatePass::suits(const Placement& placement, const OptimizerConfig& optimizer) {
  bool on_cpus = placement.lanes[0].device.kind == DeviceKind::cpu;
  return on_cpus && placement.members.size() == 1 && !make_optimizer(optimizer)->layerwise();
}

// Where each device updates its own replica, each takes all sums.
bool UpdatePass::takes_sums_at_once(const Placement& placement, const OptimizerConfig& optimizer) {
  bool shared = placement.strategy != Strategy::mirrored || placement.devices.size() == 1;
  return suits(placement, optimizer) && shared && optimizer.clip_norm == 0;
}

void UpdatePass::run(int lane, const ParameterUpdate::Step& step) {
  Lane& own = lanes_[static_cast<size_t>(lane)];
  auto& steps = steps_[static_cast<size_t>(lane)];
  Stream& stream = devices_.stream(lane);
  for (size_t u = 0; u < steps.size(); ++u) steps[u] = own.updates[u]->chunk_step(step);
  for (PackingShare& packing : own.packing) packing.begin();
  const float* weights = own.replicas.front()->values();
  FloatRange chunk{own.range.begin, own.range.begin};
  while (chunk.begin < own.range.end) {
    chunk.end = std::min(own.range.end, chunk.begin + TreeSum::chunk);
    const float* sums = gradients_.take(lane, chunk);
    for (size_t u = 0; u < steps.size(); ++u) own.updates[u]->update_chunk(chunk, sums, steps[u]);
    for (size_t r = 0; r < own.replicas.size(); ++r) {
      Replica& replica = *own.replicas[r];
      if (r > 0)
        std::copy(weights + chunk.begin, weights + chunk.end, replica.values() + chunk.begin);
      own.packing[r].pack_before(chunk.end, replica.forms, replica.values(), stream);
    }
    chunk.begin = chunk.end;
  }
}

void UpdatePass::finish(int lane) {
  Lane& own = lanes_[static_cast<size_t>(lane)];
  for (size_t r = 0; r < own.replicas.size(); ++r) {
    Replica& replica = *own.replicas[r];
    own.packing[r].pack_rest(replica.forms, replica.values(), devices_.stream(lane));
  }
}

}  // namespace spire::inline training
