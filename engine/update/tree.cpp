#include "engine/update/tree.h"

#include <algorithm>
#include <array>
#include <bit>

#include "engine/base/fail.h"

namespace spire {

int tree_split(TowerRange node) {
  auto size = static_cast<unsigned>(node.size());
  return node.begin + static_cast<int>(std::bit_floor(size - 1));
}

namespace {

// First tower of the right part of a sum: native is a tree that leans to the left.
int split_of(Reduction reduction, TowerRange node) {
  return reduction == Reduction::native ? node.end - 1 : tree_split(node);
}

// Appends the maximal nodes below `node` that lie inside `range`.
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
void schedule_node(Reduction reduction, TowerRange node, int target, LaneSchedule& schedule) {
  schedule.buffers = std::max(schedule.buffers, target + 1);
  if (node.size() == 1) {
    schedule.steps.push_back({target, {}});
    return;
  }
  // The left sum stays in `target` while the right one is made in the buffer above.
  int split = split_of(reduction, node);
  schedule_node(reduction, {node.begin, split}, target, schedule);
  schedule_node(reduction, {split, node.end}, target + 1, schedule);
  schedule.steps.back().adds.push_back({target, target + 1});
}

// Adds up `node`, tower i of the lane in buffer i, into the buffer of its first tower.
void add_lockstep(Reduction reduction, TowerRange node, int first_tower,
                  std::vector<TreeAdd>& adds) {
  if (node.size() == 1) return;
  int split = split_of(reduction, node);
  add_lockstep(reduction, {node.begin, split}, first_tower, adds);
  add_lockstep(reduction, {split, node.end}, first_tower, adds);
  adds.push_back({node.begin - first_tower, split - first_tower});
}

}  // namespace

std::vector<TowerRange> nodes_inside(Reduction reduction, int towers, TowerRange range) {
  if (range.size() == 0) return {};
  if (reduction == Reduction::native) return {range};
  std::vector<TowerRange> nodes;
  collect({0, towers}, range, nodes);
  return nodes;
}

TowerRange towers_of_lane(int towers, int lane, int lanes) {
  auto at = [&](int index) { return static_cast<int>(int64_t{towers} * index / lanes); };
  return {at(lane), at(lane + 1)};
}

LaneSchedule lane_schedule(Reduction reduction, int towers, TowerRange range) {
  LaneSchedule schedule;
  for (TowerRange node : nodes_inside(reduction, towers, range)) {
    auto buffer = static_cast<int>(schedule.nodes.size());
    schedule_node(reduction, node, buffer, schedule);
    schedule.nodes.push_back({node, buffer});
  }
  return schedule;
}

LaneSchedule lockstep_schedule(Reduction reduction, int towers, TowerRange range) {
  LaneSchedule schedule;
  schedule.buffers = range.size();
  for (int i = 0; i < range.size(); ++i) schedule.steps.push_back({i, {}});
  for (TowerRange node : nodes_inside(reduction, towers, range)) {
    add_lockstep(reduction, node, range.begin, schedule.steps.back().adds);
    schedule.nodes.push_back({node, node.begin - range.begin});
  }
  return schedule;
}

TreeSum::TreeSum(Reduction reduction, TowerRange root, const std::vector<Leaf>& leaves) {
  require(!leaves.empty(), "a sum over towers {} to {} of nothing", root.begin, root.end);
  build(reduction, root, leaves);
  int size = 0;  // of the stack
  for (const Term& term : terms_) {
    depth_ = std::max(depth_, ++size);
    size -= term.additions;
  }
}

// Descends to the nodes that are leaves. The last term of a subtree makes the addition at its root.
void TreeSum::build(Reduction reduction, TowerRange range, const std::vector<Leaf>& leaves) {
  auto leaf = std::ranges::find(leaves, range, &Leaf::node);
  if (leaf != leaves.end()) return terms_.push_back({.data = leaf->data, .first = leaf->first});
  require(range.size() > 1, "no sum of tower {} reached the tree", range.begin);
  int split = tree_split(range);
  if (reduction == Reduction::native) {  // leaves may be of several towers
    auto last =
        std::ranges::find_if(leaves, [&](const Leaf& l) { return l.node.end == range.end; });
    require(last != leaves.end(), "no sum ends with tower {}", range.end - 1);
    split = last->node.begin;
  }
  build(reduction, {range.begin, split}, leaves);
  build(reduction, {split, range.end}, leaves);
  ++terms_.back().additions;
}

namespace {

void add_into(float* out, const float* left, const float* right, int64_t count) {
  for (int64_t i = 0; i < count; ++i) out[i] = left[i] + right[i];
}

}  // namespace

// Runs the stack machine of terms(). The bottom entry is in `out`, each entry above it in a chunk
// of scratch.
const float* TreeSum::sum(int64_t begin, int64_t count, float* out, float* scratch) const {
  std::array<const float*, 8 * sizeof(int)> stack;  // a tree over an int of towers is no deeper
  size_t size = 0;
  for (const Term& term : terms_) {
    stack[size++] = term.data + (begin - term.first);
    for (int i = 0; i < term.additions; ++i) {
      const float* right = stack[--size];
      float* to = size == 1 ? out : scratch + static_cast<int64_t>(size - 2) * chunk;
      add_into(to, stack[size - 1], right, count);
      stack[size - 1] = to;
    }
  }
  return stack[0];
}

double tree_sum(std::span<const double> per_tower) {
  if (per_tower.size() == 1) return per_tower[0];
  auto split = static_cast<size_t>(tree_split({0, static_cast<int>(per_tower.size())}));
  return tree_sum(per_tower.first(split)) + tree_sum(per_tower.subspan(split));
}

FloatRange share_of(FloatRange bucket, int begin, int end, int count) {
  int64_t chunks = TreeSum::chunks_of(bucket.size());
  auto cut = [&](int member) {
    return std::min(bucket.end, bucket.begin + chunks * member / count * TreeSum::chunk);
  };
  return {cut(begin), cut(end)};
}

}  // namespace spire
