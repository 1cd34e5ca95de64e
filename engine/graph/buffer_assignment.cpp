#include "engine/graph/buffer_assignment.h"

#include <algorithm>
#include <numeric>

#include "engine/device/device_memory.h"
#include "engine/graph/memory_plan.h"

namespace spire::inline graph {

BufferAssignment::BufferAssignment(const Graph& graph,
                                   const std::vector<ParameterGradient>& gradients,
                                   const ParameterLayout& layout)
    : graph_(graph), layout_(layout) {
  auto count = static_cast<size_t>(graph.value_count());
  parent_.resize(count);
  std::iota(parent_.begin(), parent_.end(), 0);
  places_.resize(count);
  last_use_.assign(count, -1);
  place_fixed_tensors(gradients);
  find_last_uses();
  share_memory();
  place_arena_tensors();
}

int BufferAssignment::root(int id) const {
  while (parent_[static_cast<size_t>(id)] != id) id = parent_[static_cast<size_t>(id)];
  return id;
}

size_t BufferAssignment::byte_offset(const std::string& name) const {
  return static_cast<size_t>(layout_.find(name).offset) * sizeof(float);
}

void BufferAssignment::place_fixed_tensors(const std::vector<ParameterGradient>& gradients) {
  size_t index = 0;
  for (Value value : graph_.values_of(Role::input)) place(value) = {Space::input, index++};
  for (Role role : {Role::parameter, Role::state}) {
    for (Value value : graph_.values_of(role)) {
      place(value) = {Space::weights, byte_offset(graph_.tensor(value).name)};
    }
  }
  for (const auto& [parameter, gradient] : gradients) send_to_gradients(parameter, gradient);
  if (gradients.empty()) return;
  for (const StateUpdate& update : graph_.state_updates()) {
    send_to_gradients(update.state, update.contribution);
  }
}

void BufferAssignment::send_to_gradients(Value target, Value value) {
  const std::string& name = graph_.tensor(target).name;
  require(place(value).space == Space::none,
          "the gradient of '{}' is also that of another parameter", name);
  place(value) = {Space::gradients, byte_offset(name)};
}

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

// Joins views with their source, and outputs with an input that nobody reads afterwards. The input
// of a gradient that has its place in the gradient buffer is made there, too.
void BufferAssignment::share_memory() {
  const auto& nodes = graph_.nodes();
  for (size_t n = 0; n < nodes.size(); ++n) {
    const Node& node = nodes[n];
    Value output = node.outputs[0];
    if (node.op->is_view()) {
      join_view(node.inputs[0], output);
      continue;
    }
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.op->may_overwrite(static_cast<int>(i)) &&
          dies_at(node.inputs[i], static_cast<int>(n)) && accepts(output) &&
          graph_.spec(node.inputs[i]).bytes() == graph_.spec(output).bytes()) {
        join_overwritten(node.inputs[i], output);
        break;
      }
    }
  }
}

void BufferAssignment::join_view(Value source, Value view) {
  if (place(view).space == Space::none) {
    join(source, view);
  } else {  // a view that must lie in the gradient buffer takes its source along
    require(place(source).space == Space::none, "a view of a fixed tensor cannot be a gradient");
    join(view, source);
  }
}

bool BufferAssignment::accepts(Value output) {
  Space space = place(output).space;
  return space == Space::none || space == Space::gradients;
}

void BufferAssignment::join_overwritten(Value input, Value output) {
  if (place(output).space == Space::none) {
    join(input, output);
  } else {
    join(output, input);
  }
}

// `child` lies where `block` lies from now on.
void BufferAssignment::join(Value block, Value child) {
  int to = root(block.id), from = root(child.id);
  parent_[static_cast<size_t>(from)] = to;
  auto& last = last_use_[static_cast<size_t>(to)];
  last = std::max(last, last_use_[static_cast<size_t>(from)]);
}

bool BufferAssignment::dies_at(Value value, int node) const {
  auto block = static_cast<size_t>(root(value.id));
  return places_[block].space == Space::none && last_use_[block] == node;
}

void BufferAssignment::place_arena_tensors() {
  std::vector<int> blocks;
  std::vector<Lifetime> lifetimes;
  std::vector<size_t> slot(parent_.size(), SIZE_MAX);
  for (int n = 0; n < static_cast<int>(graph_.nodes().size()); ++n) {
    for (Value output : graph_.nodes()[static_cast<size_t>(n)].outputs) {
      auto block = static_cast<size_t>(root(output.id));
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
  MemoryPlan memory = plan_memory(lifetimes);
  for (size_t i = 0; i < blocks.size(); ++i) {
    places_[static_cast<size_t>(blocks[i])] = {Space::arena, memory.offsets[i]};
  }
  arena_bytes_ = align_up(memory.bytes, workspace_alignment);
  peak_bytes_ = align_up(peak_live_bytes(lifetimes));
}

}  // namespace spire::inline graph
