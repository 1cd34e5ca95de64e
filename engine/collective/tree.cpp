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

namespace {

// One running sum in buffer 0.
LaneSchedule sequence_schedule(TowerRange range) {
  LaneSchedule schedule;
  schedule.buffers = std::min(range.size(), 2);
  for (int i = 0; i < range.size(); ++i) {
    schedule.steps.push_back({std::min(i, 1), {}});
    if (i > 0) schedule.steps.back().adds.push_back({0, 1});
  }
  if (range.size() > 0) schedule.nodes.push_back({range, 0});
  return schedule;
}

// Adds up `node`, tower i of the lane in buffer i, into the buffer of its first tower.
void add_lockstep(TowerRange node, int first_tower, std::vector<TreeAdd>& adds) {
  if (node.size() == 1) return;
  int split = tree_split(node);
  add_lockstep({node.begin, split}, first_tower, adds);
  add_lockstep({split, node.end}, first_tower, adds);
  adds.push_back({node.begin - first_tower, split - first_tower});
}

}  // namespace

LaneSchedule lane_schedule(Reduction reduction, int towers, TowerRange range) {
  if (reduction == Reduction::native) return sequence_schedule(range);
  LaneSchedule schedule;
  for (TowerRange node : nodes_inside(towers, range)) {
    auto buffer = static_cast<int>(schedule.nodes.size());
    schedule_node(node, buffer, schedule);
    schedule.nodes.push_back({node, buffer});
  }
  return schedule;
}

LaneSchedule lockstep_schedule(Reduction reduction, int towers, TowerRange range) {
  LaneSchedule schedule;
  schedule.buffers = range.size();
  for (int i = 0; i < range.size(); ++i) schedule.steps.push_back({i, {}});
  if (range.size() == 0) return schedule;
  auto& adds = schedule.steps.back().adds;
  if (reduction == Reduction::native) {
    for (int i = 1; i < range.size(); ++i) adds.push_back({0, i});
    schedule.nodes.push_back({range, 0});
    return schedule;
  }
  for (TowerRange node : nodes_inside(towers, range)) {
    add_lockstep(node, range.begin, adds);
    schedule.nodes.push_back({node, node.begin - range.begin});
  }
  return schedule;
}

TreeSum::TreeSum(Reduction reduction, TowerRange root, const std::vector<Leaf>& leaves) {
  require(!leaves.empty(), "a sum over towers {} to {} of nothing", root.begin, root.end);
  root_ = reduction == Reduction::invariant ? build_tree(root, leaves, 1) : build_sequence(leaves);
}

int TreeSum::add_node(const Node& node) {
  nodes_.push_back(node);
  return static_cast<int>(nodes_.size()) - 1;
}

int TreeSum::build_tree(TowerRange range, const std::vector<Leaf>& leaves, int level) {
  depth_ = std::max(depth_, level);
  auto leaf =
      std::find_if(leaves.begin(), leaves.end(), [&](const Leaf& l) { return l.node == range; });
  if (leaf != leaves.end()) return add_node({.leaf = leaf->data, .first = leaf->first});
  require(range.size() > 1, "no sum of tower {} reached the tree", range.begin);
  int split = tree_split(range);
  int left = build_tree({range.begin, split}, leaves, level + 1);
  int right = build_tree({split, range.end}, leaves, level + 1);
  return add_node({.left = left, .right = right});
}

int TreeSum::build_sequence(const std::vector<Leaf>& leaves) {
  int sum = add_node({.leaf = leaves[0].data, .first = leaves[0].first});
  for (size_t i = 1; i < leaves.size(); ++i) {
    int next = add_node({.leaf = leaves[i].data, .first = leaves[i].first});
    sum = add_node({.left = sum, .right = next});
  }
  depth_ = 2;
  return sum;
}

const float* TreeSum::sum(int64_t begin, int64_t count, float* out, float* scratch) const {
  return evaluate(root_, begin, count, out, scratch);
}

const float* TreeSum::evaluate(int index, int64_t begin, int64_t count, float* out,
                               float* scratch) const {
  const Node& node = nodes_[static_cast<size_t>(index)];
  if (node.leaf) return node.leaf + (begin - node.first);
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
