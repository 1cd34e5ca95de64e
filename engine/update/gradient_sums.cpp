#include "engine/update/gradient_sums.h"

#include <algorithm>

namespace spire {
namespace {

using Leaves = std::vector<const NodeBuffer*>;

// 128 KiB of each term: still in the cache when it is squared.
constexpr int64_t chunks_per_slice = 8;

Leaves leaves_of(TowerRange node, const std::vector<NodeBuffer>& buffers) {
  Leaves leaves;
  for (const NodeBuffer& buffer : buffers)
    if (buffer.node.begin >= node.begin && buffer.node.end <= node.end) leaves.push_back(&buffer);
  return leaves;
}

// The first leaf whose memory the device can send and receive; null if there is none. On CPUs all
// memory is the host's.
const NodeBuffer* leaf_on(DeviceId device, const Leaves& leaves) {
  auto found = std::ranges::find_if(leaves, [&](const NodeBuffer* leaf) {
    return device.kind == DeviceKind::cpu || leaf->device == device;
  });
  return found == leaves.end() ? nullptr : *found;
}

}  // namespace

size_t GradientSums::bytes(const Ownership& who, int member, const std::vector<NodeBuffer>& buffers,
                           DeviceId device) {
  if (who.members.size() == 1) return 0;
  size_t bytes = 0;
  for (TowerRange node : who.nodes(member))
    if (!leaf_on(device, leaves_of(node, buffers)))
      bytes += static_cast<size_t>(who.floats()) * sizeof(float);
  return bytes;
}

// Sums that are exchanged must lie on the exchanging device.
GradientSums::GradientSums(const Ownership& who, int member, const std::vector<NodeBuffer>& buffers,
                           std::vector<Stream*> streams, std::span<double> squares,
                           MemoryPool& memory)
    : trained_(who.trained),
      alone_(who.members.size() == 1),
      streams_(std::move(streams)),
      squares_(squares),
      lanes_(streams_.size()) {
  for (TowerRange node : who.nodes(member)) {
    Leaves leaves = leaves_of(node, buffers);
    std::vector<TreeSum::Leaf> terms;
    for (const NodeBuffer* leaf : leaves) terms.push_back({leaf->node, leaf->data, 0});
    trees_.emplace_back(who.reduction, node, terms);
    depth_ = std::max(depth_, trees_.back().depth());
    const NodeBuffer* place = alone_ ? leaves.front() : leaf_on(memory.device(), leaves);
    if (!place)
      staged_.push_back(memory.allocate(MemoryKind::communication,
                                        static_cast<size_t>(who.floats()) * sizeof(float)));
    nodes_.push_back(place ? place->data : staged_.back()->as<float>());
  }
  for (size_t l = 0; l < lanes_.size(); ++l) {
    bool on_cpu = memory.device().kind == DeviceKind::cpu;
    if (alone_ || on_cpu) lanes_[l].arithmetic = make_lane_arithmetic(*streams_[l], depth_);
    if (alone_ && on_cpu)
      lanes_[l].scratch =
          Buffer(static_cast<size_t>(TreeSum::chunk * (1 + depth_)) * sizeof(float));
  }
}

// A CPU squares a sum while it is in the cache; a GPU takes the range by one kernel each.
void GradientSums::sum(int lane, FloatRange range) {
  LaneArithmetic& arithmetic = *lanes_[static_cast<size_t>(lane)].arithmetic;
  bool on_cpu = streams_[static_cast<size_t>(lane)]->device().kind == DeviceKind::cpu;
  int64_t slice = on_cpu ? chunks_per_slice * TreeSum::chunk : range.size();
  for (FloatRange part = range; part.begin < range.end; part.begin += slice) {
    part.end = std::min(range.end, part.begin + slice);
    sum(arithmetic, part);
    if (alone_) square(arithmetic, part);
  }
}

void GradientSums::sum(LaneArithmetic& arithmetic, FloatRange range) {
  for (size_t n = 0; n < trees_.size(); ++n) arithmetic.sum(trees_[n], range, nodes_[n]);
}

const float* GradientSums::sum_chunk(int lane, FloatRange chunk) {
  auto* scratch = lanes_[static_cast<size_t>(lane)].scratch.as<float>();
  const float* sum =
      trees_.front().sum(chunk.begin, chunk.size(), scratch, scratch + TreeSum::chunk);
  int64_t trained = std::min(chunk.end, trained_) - chunk.begin;
  if (trained > 0)
    squares_[static_cast<size_t>(chunk.begin / TreeSum::chunk)] = sum_of_squares(sum, trained);
  return sum;
}

void GradientSums::square(LaneArithmetic& arithmetic, FloatRange range) {
  range.end = std::min(range.end, trained_);
  if (range.size() > 0) arithmetic.square(sums(), range, squares_.data());
}

}  // namespace spire
