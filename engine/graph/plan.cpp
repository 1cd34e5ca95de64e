#include <spire/graph/plan.h>

#include <algorithm>
#include <numeric>

#include <spire/graph/memory_plan.h>

namespace spire {

// Works out the places of all tensors, then makes the kernels. Tensors that share memory (views,
// overwritten inputs) are one block: the block of `root(value)`.
class PlanBuilder {
 public:
  PlanBuilder(Graph& graph, const PlanOptions& options, const ParameterLayout& layout)
      : graph_(graph), options_(options), layout_(layout) {
    auto count = static_cast<size_t>(graph.value_count());
    parent_.resize(count);
    std::iota(parent_.begin(), parent_.end(), 0);
    places_.resize(count);
    last_use_.assign(count, -1);
  }

  void build(Plan& plan, PackedForms& forms) {
    place_fixed_tensors();
    find_last_uses();
    share_memory();
    plan.activation_bytes_ = place_arena_tensors();
    for (size_t n = 0; n < graph_.nodes().size(); ++n) {
      if (!graph_.nodes()[n].op->is_view()) plan.steps_.push_back(make_step(n, plan, forms));
    }
    for (const auto& [name, value] : graph_.outputs())
      plan.outputs_.emplace_back(name, place(value));
  }

 private:
  using Place = Plan::Place;
  using Space = Plan::Space;

  int root(int id) const {
    while (parent_[static_cast<size_t>(id)] != id) id = parent_[static_cast<size_t>(id)];
    return id;
  }
  Place& place(Value value) { return places_[static_cast<size_t>(root(value.id))]; }

  size_t byte_offset(const std::string& name) const {
    return static_cast<size_t>(layout_.find(name).offset) * sizeof(float);
  }

  void place_fixed_tensors() {
    size_t index = 0;
    for (Value value : graph_.values_of(Role::input)) place(value) = {Space::input, index++};
    for (Role role : {Role::parameter, Role::state}) {
      for (Value value : graph_.values_of(role)) {
        place(value) = {Space::weights, byte_offset(graph_.tensor(value).name)};
      }
    }
    for (const auto& [parameter, gradient] : options_.gradients)
      send_to_gradients(parameter, gradient);
    if (options_.gradients.empty()) return;
    for (const StateUpdate& update : graph_.state_updates()) {
      send_to_gradients(update.state, update.contribution);
    }
  }

  void send_to_gradients(Value target, Value value) {
    const std::string& name = graph_.tensor(target).name;
    require(place(value).space == Space::none,
            "the gradient of '{}' is also that of another parameter", name);
    place(value) = {Space::gradients, byte_offset(name)};
  }

  void find_last_uses() {
    const auto& nodes = graph_.nodes();
    for (size_t n = 0; n < nodes.size(); ++n) {
      for (Value input : nodes[n].inputs)
        last_use_[static_cast<size_t>(input.id)] = static_cast<int>(n);
    }
    for (const auto& [name, value] : graph_.outputs()) {
      last_use_[static_cast<size_t>(value.id)] = static_cast<int>(nodes.size());
    }
  }

  // Joins views with their source, and outputs with an input that nobody reads afterwards.
  void share_memory() {
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
            dies_at(node.inputs[i], static_cast<int>(n)) && place(output).space == Space::none &&
            graph_.spec(node.inputs[i]).bytes() == graph_.spec(output).bytes()) {
          join(node.inputs[i], output);
          break;
        }
      }
    }
  }

  void join_view(Value source, Value view) {
    if (place(view).space == Space::none) {
      join(source, view);
    } else {  // a view that must lie in the gradient buffer takes its source along
      require(place(source).space == Space::none, "a view of a fixed tensor cannot be a gradient");
      join(view, source);
    }
  }

  // `child` lies where `block` lies from now on.
  void join(Value block, Value child) {
    int to = root(block.id), from = root(child.id);
    parent_[static_cast<size_t>(from)] = to;
    auto& last = last_use_[static_cast<size_t>(to)];
    last = std::max(last, last_use_[static_cast<size_t>(from)]);
  }

  bool dies_at(Value value, int node) {
    auto block = static_cast<size_t>(root(value.id));
    return places_[block].space == Space::none && last_use_[block] == node;
  }

  size_t place_arena_tensors() {
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
    return align_up(memory.bytes);
  }

  Plan::Step make_step(size_t n, Plan& plan, PackedForms& forms) {
    const Node& node = graph_.nodes()[n];
    std::vector<TensorSpec> inputs, outputs;
    Plan::Step step;
    for (Value value : node.inputs) {
      inputs.push_back(graph_.spec(value));
      step.inputs.push_back(place(value));
    }
    for (Value value : node.outputs) {
      outputs.push_back(graph_.spec(value));
      step.outputs.push_back(place(value));
    }
    step.kernel = make_kernel(*node.op, {.inputs = inputs,
                                         .outputs = outputs,
                                         .device = options_.device,
                                         .threads = options_.threads,
                                         .op_id = static_cast<int>(n)});
    for (Packing& packing : step.kernel->packings()) {
      const Tensor& tensor = graph_.tensor(node.inputs[static_cast<size_t>(packing.input)]);
      require(tensor.role == Role::parameter, "[{}] packs an input that is no parameter",
              node.op->name());
      auto& input = step.inputs[static_cast<size_t>(packing.input)];
      input = {Space::packed,
               forms.add(layout_.find(tensor.name), std::move(packing), options_.step)};
    }
    plan.workspace_bytes_ =
        std::max(plan.workspace_bytes_, align_up(step.kernel->workspace_bytes()));
    step.input_pointers.resize(step.inputs.size());
    step.output_pointers.resize(step.outputs.size());
    return step;
  }

  Graph& graph_;
  const PlanOptions& options_;
  const ParameterLayout& layout_;
  std::vector<int> parent_;    // of the memory-sharing forest
  std::vector<Place> places_;  // of roots
  std::vector<int> last_use_;  // of roots: last node that reads the block
};

Plan::Plan(Graph graph, const PlanOptions& options, const ParameterLayout& layout,
           PackedForms& forms) {
  PlanBuilder(graph, options, layout).build(*this, forms);
}

std::byte* Plan::resolve(Place place, const Bindings& bindings) {
  switch (place.space) {
    case Space::arena:
      return bindings.arena + place.offset;
    case Space::gradients:
      return reinterpret_cast<std::byte*>(bindings.gradients) + place.offset;
    default:
      return nullptr;
  }
}

const std::byte* Plan::resolve_input(Place place, const Bindings& bindings) {
  switch (place.space) {
    case Space::weights:
      return reinterpret_cast<const std::byte*>(bindings.weights) + place.offset;
    case Space::packed:
      return bindings.packed + place.offset;
    case Space::input:
      return static_cast<const std::byte*>(bindings.inputs[place.offset]);
    default:
      return resolve(place, bindings);
  }
}

void Plan::run(const Bindings& bindings, const StepContext& context) {
  std::byte* workspace = bindings.arena + activation_bytes_;
  for (Step& step : steps_) {
    for (size_t i = 0; i < step.inputs.size(); ++i) {
      step.input_pointers[i] = resolve_input(step.inputs[i], bindings);
    }
    for (size_t i = 0; i < step.outputs.size(); ++i) {
      step.output_pointers[i] = resolve(step.outputs[i], bindings);
    }
    step.kernel->run({step.input_pointers, step.output_pointers, workspace, &context});
  }
}

const void* Plan::output(const std::string& name, const std::byte* arena) const {
  for (const auto& [known, place] : outputs_) {
    if (known == name) return arena + place.offset;
  }
  fail(Category::unexpected, "the plan has no output '{}'", name);
}

}  // namespace spire
