#include "engine/graph/buffer_assignment.h"

#include <algorithm>
#include <numeric>

#include "engine/base/fail.h"
#include "engine/device/device_memory.h"

namespace spire {
namespace {

bool overlap_in_time(const Lifetime& a, const Lifetime& b) {
  return a.first <= b.last && b.first <= a.last;
}

}  // namespace

// Places the largest block first, each at the lowest offset that is free during its life.
MemoryPlan plan_memory(const std::vector<Lifetime>& lifetimes,
                       const std::vector<FixedBlock>& fixed) {
  std::vector<size_t> order(lifetimes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return lifetimes[a].bytes > lifetimes[b].bytes; });

  MemoryPlan plan;
  plan.offsets.assign(lifetimes.size(), 0);
  std::vector<FixedBlock> placed = fixed;  // by ascending offset
  std::ranges::stable_sort(placed, {}, &FixedBlock::offset);
  for (const FixedBlock& block : fixed)
    plan.bytes = std::max(plan.bytes, block.offset + align_up(block.life.bytes));
  for (size_t block : order) {
    const Lifetime& life = lifetimes[block];
    size_t bytes = align_up(life.bytes);
    size_t offset = 0;
    // The lowest gap among blocks alive at the same time.
    for (const FixedBlock& other : placed) {
      if (!overlap_in_time(life, other.life)) continue;
      if (offset + bytes <= other.offset) break;
      offset = std::max(offset, other.offset + align_up(other.life.bytes));
    }
    plan.offsets[block] = offset;
    plan.bytes = std::max(plan.bytes, offset + bytes);
    auto after = std::ranges::upper_bound(placed, offset, {}, &FixedBlock::offset);
    placed.insert(after, {offset, life});
  }
  return plan;
}

std::vector<FixedBlock> gradient_blocks(const ParameterLayout& layout,
                                        const std::vector<int>& first_writers, int end) {
  std::vector<FixedBlock> blocks;
  for (size_t e = 0; e < layout.entries_with_gradients().size(); ++e) {
    const ParameterEntry& entry = layout.entries()[e];
    auto offset = static_cast<size_t>(entry.offset) * sizeof(float);
    auto bytes = static_cast<size_t>(entry.elements()) * sizeof(float);
    // The gap behind an entry shares a unit of alignment with the entry's last numbers.
    size_t whole = bytes / tensor_alignment * tensor_alignment;
    if (first_writers[e] >= 0 && whole > 0)
      blocks.push_back({offset, {whole, first_writers[e], end}});
    if (whole < bytes) blocks.push_back({offset + whole, {tensor_alignment, 0, end}});
  }
  return blocks;
}

size_t peak_live_bytes(const std::vector<Lifetime>& lifetimes) {
  int end = 0;
  for (const Lifetime& life : lifetimes) end = std::max(end, life.last + 1);
  // Bytes that become alive before each node and dead after it; their running sum is what lives.
  std::vector<size_t> born(static_cast<size_t>(end) + 1), gone(born.size());
  for (const Lifetime& life : lifetimes) {
    born[static_cast<size_t>(life.first)] += align_up(life.bytes);
    gone[static_cast<size_t>(life.last) + 1] += align_up(life.bytes);
  }
  size_t live = 0, peak = 0;
  for (size_t node = 0; node < born.size(); ++node) {
    live += born[node] - gone[node];
    peak = std::max(peak, live);
  }
  return peak;
}

BufferAssignment::BufferAssignment(const Graph& graph,
                                   const std::vector<ParameterGradient>& gradients,
                                   const ParameterLayout& layout, bool over_gradients)
    : graph_(graph), layout_(layout) {
  auto count = static_cast<size_t>(graph.value_count());
  parent_.resize(count);
  std::iota(parent_.begin(), parent_.end(), 0);
  places_.resize(count);
  last_use_.assign(count, -1);
  place_fixed_tensors(gradients);
  find_last_uses();
  share_memory();
  place_arena_tensors(over_gradients);
}

int BufferAssignment::root(int id) const {
  while (parent_[static_cast<size_t>(id)] != id) id = parent_[static_cast<size_t>(id)];
  return id;
}

size_t BufferAssignment::byte_offset(const std::string& name) const {
  return static_cast<size_t>(layout_.find(name).offset) * sizeof(float);
}

// Places what does not live in the arena: inputs, weights, and in training the gradients of
// parameters and the contributions of states.
void BufferAssignment::place_fixed_tensors(const std::vector<ParameterGradient>& gradients) {
  size_t index = 0;
  for (Value value : graph_.values_of(Role::input)) place(value) = {Space::input, index++};
  for (Role role : {Role::parameter, Role::state}) {
    for (Value value : graph_.values_of(role)) {
      place(value) = {Space::weights, byte_offset(graph_.tensor(value).name)};
    }
  }
  for (const auto& [parameter, gradient] : gradients) place_in_gradients(parameter, gradient);
  if (gradients.empty()) return;
  for (const StateUpdate& update : graph_.state_updates()) {
    place_in_gradients(update.state, update.contribution);
  }
}

void BufferAssignment::place_in_gradients(Value target, Value value) {
  const std::string& name = graph_.tensor(target).name;
  require(place(value).space == Space::none,
          "the gradient of '{}' is also that of another parameter", name);
  place(value) = {Space::gradients, byte_offset(name)};
}

// Outputs of the graph are read after the last node, so nothing may overwrite them.
void BufferAssignment::find_last_uses() {
  const auto& nodes = graph_.nodes();
  for (size_t n = 0; n < nodes.size(); ++n) {
    for (Value input : nodes[n].inputs)
      last_use_[static_cast<size_t>(input.id)] = static_cast<int>(n);
  }
  for (const auto& [name, value] : graph_.outputs()) {
    last_use_[static_cast<size_t>(value.id)] = static_cast<int>(nodes.size());
  }
}

// Joins views with their source, and an output with an input of its size that the op may overwrite
// and that no later node reads. Where the output is fixed in the gradient buffer, the input is
// computed there as well, which saves the copy.
void BufferAssignment::share_memory() {
  const auto& nodes = graph_.nodes();
  for (size_t n = 0; n < nodes.size(); ++n) {
    const Node& node = nodes[n];
    Value output = node.outputs[0];
    if (node.op->is_view()) {
      join_view(node.inputs[0], output);
      continue;
    }
    Space space = place(output).space;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.op->may_overwrite(static_cast<int>(i)) &&
          dies_at(node.inputs[i], static_cast<int>(n)) &&
          (space == Space::none || space == Space::gradients) &&
          graph_.spec(node.inputs[i]).bytes() == graph_.spec(output).bytes()) {
        space == Space::none ? join(node.inputs[i], output) : join(output, node.inputs[i]);
        break;
      }
    }
  }
}

void BufferAssignment::join_view(Value source, Value view) {
  if (place(view).space == Space::none) {
    join(source, view);
  } else {  // a view fixed in the gradient buffer pulls its source there
    require(place(source).space == Space::none, "a view of a fixed tensor cannot be a gradient");
    join(view, source);
  }
}

// Merges the block of `child` into that of `block`, whose place it takes.
void BufferAssignment::join(Value block, Value child) {
  int to = root(block.id), from = root(child.id);
  parent_[static_cast<size_t>(from)] = to;
  auto& last = last_use_[static_cast<size_t>(to)];
  last = std::max(last, last_use_[static_cast<size_t>(from)]);
}

// Returns true if `node` is the last reader of a block that has no fixed place. Weights and inputs
// have one: they are never overwritten.
bool BufferAssignment::dies_at(Value value, int node) const {
  auto block = static_cast<size_t>(root(value.id));
  return places_[block].space == Space::none && last_use_[block] == node;
}

// Gives each remaining block its lifetime, from the node that first writes it to its last reader,
// and plans the arena.
void BufferAssignment::place_arena_tensors(bool over_gradients) {
  std::vector<int> blocks;
  std::vector<Lifetime> lifetimes;
  std::vector<size_t> slot(parent_.size(), SIZE_MAX);
  std::vector<int> first_writers(layout_.entries_with_gradients().size(),
                                 -1);  // of gradients, by entry
  for (int n = 0; n < static_cast<int>(graph_.nodes().size()); ++n) {
    for (Value output : graph_.nodes()[static_cast<size_t>(n)].outputs) {
      auto block = static_cast<size_t>(root(output.id));
      if (places_[block].space == Space::gradients) {
        int& writer = first_writers[layout_.entry_at(places_[block].offset / sizeof(float))];
        if (writer < 0) writer = n;
      }
      if (places_[block].space != Space::none) continue;
      if (slot[block] == SIZE_MAX) {
        slot[block] = blocks.size();
        blocks.push_back(static_cast<int>(block));
        lifetimes.push_back({0, n, std::max(n, last_use_[block])});
      }
      auto& life = lifetimes[slot[block]];
      life.bytes = std::max(life.bytes, graph_.spec(output).bytes());
    }
  }
  std::vector<FixedBlock> fixed;
  if (over_gradients)
    fixed = gradient_blocks(layout_, first_writers, static_cast<int>(graph_.nodes().size()));
  MemoryPlan memory = plan_memory(lifetimes, fixed);
  for (size_t i = 0; i < blocks.size(); ++i) {
    places_[static_cast<size_t>(blocks[i])] = {Space::arena, memory.offsets[i]};
  }
  arena_bytes_ = align_up(memory.bytes, workspace_alignment);
  for (const FixedBlock& block : fixed) lifetimes.push_back(block.life);
  peak_bytes_ = align_up(peak_live_bytes(lifetimes));
}

}  // namespace spire
