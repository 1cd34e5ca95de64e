#include <spire/collective/tree.h>

#include <algorithm>
#include <bit>

#include <spire/base/error.h>

namespace spire {

int tree_split(TowerRange node) {
  auto size = static_cast<unsigned>(node.size());
  return node.begin + static_cast<int>(std::bit_floor(size - 1));
}

namespace {

void collect(TowerRange node, TowerRange range, std::vector<TowerRange>& out) {
  if (node.end <= range.begin || node.begin >= range.end) return;
  if (node.begin >= range.begin && node.end <= range.end) {
    out.push_back(node);
    return;
  }
  int split = tree_split(node);
  collect({node.begin, split}, range, out);
  collect({split, node.end}, range, out);
}

// Appends the steps that sum `node` into buffer `target`, using buffers above it as a stack.
void schedule_node(TowerRange node, int target, LaneSchedule& schedule) {
  schedule.buffers = std::max(schedule.buffers, target + 1);
  if (node.size() == 1) {
    schedule.steps.push_back({target, {}});
    return;
  }
  int split = tree_split(node);
  schedule_node({node.begin, split}, target, schedule);
  schedule_node({split, node.end}, target + 1, schedule);
  schedule.steps.back().adds.push_back({target, target + 1});
}

}  // namespace

std::vector<TowerRange> nodes_inside(int towers, TowerRange range) {
  std::vector<TowerRange> nodes;
  if (range.size() > 0) collect({0, towers}, range, nodes);
  return nodes;
}

TowerRange towers_of_lane(int towers, int lane, int lanes) {
  auto at = [&](int index) { return static_cast<int>(int64_t{towers} * index / lanes); };
  return {at(lane), at(lane + 1)};
}

LaneSchedule lane_schedule(int towers, TowerRange range) {
  LaneSchedule schedule;
  schedule.nodes = nodes_inside(towers, range);
  for (size_t i = 0; i < schedule.nodes.size(); ++i) {
    schedule_node(schedule.nodes[i], static_cast<int>(i), schedule);
  }
  return schedule;
}

TreeSum::TreeSum(int towers, std::vector<Leaf> leaves) {
  root_ = build({0, towers}, leaves, 1);
}

int TreeSum::build(TowerRange range, std::span<const Leaf> leaves, int level) {
  depth_ = std::max(depth_, level);
  Node node;
  auto leaf =
      std::find_if(leaves.begin(), leaves.end(), [&](const Leaf& l) { return l.node == range; });
  if (leaf != leaves.end()) {
    node.leaf = leaf->data;
  } else {
    require(range.size() > 1, "no sum of tower {} reached the tree", range.begin);
    int split = tree_split(range);
    node.left = build({range.begin, split}, leaves, level + 1);
    node.right = build({split, range.end}, leaves, level + 1);
  }
  nodes_.push_back(node);
  return static_cast<int>(nodes_.size()) - 1;
}

const float* TreeSum::sum(int64_t begin, int64_t count, float* out, float* scratch) const {
  return evaluate(root_, begin, count, out, scratch);
}

const float* TreeSum::evaluate(int index, int64_t begin, int64_t count, float* out,
                               float* scratch) const {
  const Node& node = nodes_[static_cast<size_t>(index)];
  if (node.leaf) return node.leaf + begin;
  const float* left = evaluate(node.left, begin, count, out, scratch);
  const float* right = evaluate(node.right, begin, count, scratch, scratch + chunk);
  for (int64_t i = 0; i < count; ++i) out[i] = left[i] + right[i];
  return out;
}

double tree_sum(std::span<const double> per_tower) {
  if (per_tower.size() == 1) return per_tower[0];
  auto split = static_cast<size_t>(tree_split({0, static_cast<int>(per_tower.size())}));
  return tree_sum(per_tower.first(split)) + tree_sum(per_tower.subspan(split));
}

}  // namespace spire
