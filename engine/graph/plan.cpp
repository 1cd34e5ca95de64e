#include "engine/graph/plan.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <spire/packing.h>

#include "engine/base/fail.h"
#include "engine/graph/buffer_assignment.h"

namespace spire {

// Compiles a graph: BufferAssignment places its tensors, then each node that is no view becomes a
// step.
class PlanBuilder {
 public:
  PlanBuilder(Graph& graph, const PlanOptions& options, const ParameterLayout& layout)
      : graph_(graph),
        options_(options),
        layout_(layout),
        places_(graph, options.gradients, layout, options.over_gradients) {}

  void build(Plan& plan, PackedWeights& packed) {
    plan.activation_bytes_ = places_.arena_bytes();
    for (Value input : graph_.values_of(Role::input)) {
      TensorName name{.op = "input", .parameter = graph_.tensor(input).name};
      plan.inputs_.push_back({name, graph_.spec(input)});
    }
    // Backward begins after the last step that makes a graph output: loss and score are final
    // there, and the differentiated nodes follow.
    for (size_t n = 0; n < graph_.nodes().size(); ++n) {
      if (graph_.nodes()[n].op->is_view()) continue;
      plan.steps_.push_back(make_step(n, plan, packed));
      if (!makes_output(graph_.nodes()[n])) continue;
      plan.backward_begin_ = plan.steps_.size();
      plan.forward_sums_ = plan.tower_sums_.size();
    }
    find_ready_gradients(plan);
    for (const auto& [name, value] : graph_.outputs())
      plan.outputs_.emplace_back(name, places_.at(value));
  }

 private:
  Plan::Step make_step(size_t n, Plan& plan, PackedWeights& packed) {
    const Node& node = graph_.nodes()[n];
    std::vector<TensorSpec> inputs, outputs;
    Plan::Step step;
    for (Value value : node.inputs) {
      inputs.push_back(graph_.spec(value));
      step.inputs.push_back(places_.at(value));
    }
    for (Value value : node.outputs) {
      outputs.push_back(graph_.spec(value));
      step.outputs.push_back(places_.at(value));
    }
    step.kernel = make_kernel(*node.op, {.inputs = inputs,
                                         .outputs = outputs,
                                         .device = options_.device,
                                         .threads = options_.threads,
                                         .op_id = node.id,
                                         .cuda = options_.cuda});
    // An input that the kernel wants packed is read from the packed weights, not from the plain
    // ones.
    for (const Packing& packing : step.kernel.packings()) {
      const Tensor& tensor = graph_.tensor(node.inputs[static_cast<size_t>(packing.input)]);
      require(tensor.role == Role::parameter, "[{}] packs an input that is not a parameter",
              node.op->name());
      auto& input = step.inputs[static_cast<size_t>(packing.input)];
      input = {Space::packed, packed.add(layout_.find(tensor.name), packing, options_.step)};
    }
    // Steps run one after another, so all share one workspace: that of the largest kernel.
    plan.workspace_bytes_ =
        std::max(plan.workspace_bytes_, align_up(step.kernel.workspace_bytes()));
    if (node.op->sums_towers()) {
      step.tower_sum = outputs[0].shape.elements();
      plan.tower_sums_.push_back(step.tower_sum);
    }
    // Allocated here, since a run must not allocate.
    step.input_pointers.resize(step.inputs.size());
    step.output_pointers.resize(step.outputs.size());
    step.written = written_by(node, outputs);
    step.name = step.written.empty() ? std::string(node.op->name()) : step.written[0].name.kernel();
    return step;
  }

  std::vector<Plan::Written> written_by(const Node& node, const std::vector<TensorSpec>& specs) {
    std::vector<Plan::Written> written;
    for (size_t i = 0; i < specs.size(); ++i) {
      TensorName name{.op = std::string(node.op->name()),
                      .backward = node.backward,
                      .output = static_cast<int>(i)};
      name.parameter = gradient_of(node, specs[i], places_.at(node.outputs[i]));
      name.layer = layer_of(node);
      written.push_back({std::move(name), specs[i]});
    }
    return written;
  }

  // Returns the parameter whose gradient, or the statistic whose contribution, a node writes to
  // this place; "" for others, which may also lie in the gradient buffer before its parts are
  // written.
  std::string gradient_of(const Node& node, const TensorSpec& spec, Place place) const {
    if (place.space != Space::gradients) return "";
    const ParameterEntry& entry = layout_.entries()[layout_.entry_at(place.offset / sizeof(float))];
    bool whole = static_cast<size_t>(entry.offset) * sizeof(float) == place.offset &&
                 spec.dtype == DType::f32 && spec.shape.elements() == entry.elements();
    return whole && (node.backward || entry.statistic) ? entry.name : "";
  }

  // The layer of the node or, without one, that of the node whose result it reads.
  std::string layer_of(const Node& node) const {
    for (const Node* at = &node; at != nullptr;) {
      if (std::string layer = layer_name(graph_, *at); !layer.empty()) return layer;
      auto made = std::ranges::find_if(
          at->inputs, [&](Value input) { return graph_.tensor(input).producer >= 0; });
      if (made == at->inputs.end()) break;
      at = &graph_.nodes()[static_cast<size_t>(graph_.tensor(*made).producer)];
    }
    return "";
  }

  bool makes_output(const Node& node) const {
    for (const auto& [name, value] : graph_.outputs()) {
      if (std::count(node.outputs.begin(), node.outputs.end(), value) > 0) return true;
    }
    return false;
  }

  // A prefix of the gradient buffer is final after the last step that touches any of its entries.
  // Steps that read count, too: where gradients are added, the first one waits in the buffer.
  void find_ready_gradients(Plan& plan) {
    if (options_.gradients.empty()) return;
    // Found by places, so views and overwritten tensors count as well.
    std::vector<size_t> last(layout_.entries_with_gradients().size(), 0);
    for (size_t s = 0; s < plan.steps_.size(); ++s) {
      for (const auto* places : {&plan.steps_[s].inputs, &plan.steps_[s].outputs}) {
        for (Place p : *places) {
          if (p.space == Space::gradients) last[layout_.entry_at(p.offset / sizeof(float))] = s;
        }
      }
    }
    size_t latest = 0;
    for (size_t e = 0; e < last.size(); ++e) {
      // Prefixes are nested, so a longer one is never final earlier. Two that become final at one
      // step are one notification, the longer one.
      latest = std::max(latest, last[e]);
      bool is_last = e + 1 == last.size();
      int64_t ready = is_last ? layout_.gradient_floats() : layout_.entries()[e + 1].offset;
      if (is_notified(ready, is_last)) plan.steps_[latest].gradients_ready = ready;
    }
  }

  // Returns true if listeners are notified of this prefix: it is the first to reach one more of the
  // wanted offsets, or there are none and every parameter counts. The whole buffer is always
  // notified.
  bool is_notified(int64_t ready, bool is_last) {
    if (options_.ready_offsets.empty() || is_last) return true;
    auto passed =
        std::upper_bound(options_.ready_offsets.begin(), options_.ready_offsets.end(), ready);
    auto count = static_cast<size_t>(passed - options_.ready_offsets.begin());
    return count > std::exchange(offsets_passed_, count);
  }

  Graph& graph_;
  const PlanOptions& options_;
  const ParameterLayout& layout_;
  const BufferAssignment places_;
  size_t offsets_passed_ = 0;  // how many of options_.ready_offsets the prefix so far covers
};

Plan::Plan(Graph graph, const PlanOptions& options, const ParameterLayout& layout,
           PackedWeights& packed) {
  PlanBuilder(graph, options, layout).build(*this, packed);
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

// Resolves places at each run: bindings may change from run to run, since gradient buffers and
// input slots alternate.
void Plan::run_step(Step& step, const Bindings& bindings) {
  for (size_t i = 0; i < step.inputs.size(); ++i) {
    step.input_pointers[i] = resolve_input(step.inputs[i], bindings);
  }
  for (size_t i = 0; i < step.outputs.size(); ++i) {
    step.output_pointers[i] = resolve(step.outputs[i], bindings);
  }
  // The workspace follows the activations in the arena.
  std::byte* workspace = bindings.arena + activation_bytes_;
  step.kernel.run(
      {step.input_pointers, step.output_pointers, workspace, bindings.step, bindings.stream});
}

void Plan::notify(size_t position, PlanListener& listener) const {
  if (steps_[position].gradients_ready > 0)
    listener.gradients_ready(steps_[position].gradients_ready);
  if (position + 1 == backward_begin_) listener.backward_begins();
}

size_t Plan::next_notification(size_t begin) const {
  for (size_t s = begin; s < steps_.size(); ++s) {
    if (steps_[s].gradients_ready > 0 || s + 1 == backward_begin_) return s + 1;
  }
  return steps_.size();
}

void Plan::run_range(const Bindings& bindings, size_t begin, size_t end) {
  for (size_t s = begin; s < end; ++s) run_step(steps_[s], bindings);
}

void Plan::show_inputs(const Bindings& bindings, PlanObserver& observer) const {
  for (size_t i = 0; i < inputs_.size(); ++i)
    observer.on_tensor({inputs_[i].name, inputs_[i].spec, bindings.inputs[i]});
}

// The pointers are those of the run that has just ended.
void Plan::show_outputs(const Step& step, PlanObserver& observer) {
  for (size_t i = 0; i < step.written.size(); ++i)
    if (step.output_pointers[i] != nullptr)
      observer.on_tensor({step.written[i].name, step.written[i].spec, step.output_pointers[i]});
}

void Plan::run_step(Step& step, const Bindings& bindings, PlanObserver* observer) {
  if (!observer) return run_step(step, bindings);
  observer->before_kernel(step.name.c_str());
  run_step(step, bindings);
  observer->after_kernel();
  show_outputs(step, *observer);
}

void Plan::run(const Bindings& bindings, PlanListener* listener, PlanObserver* observer) {
  if (observer) show_inputs(bindings, *observer);
  for (size_t s = 0; s < steps_.size(); ++s) {
    run_step(steps_[s], bindings, observer);
    if (listener) notify(s, *listener);
  }
}

// The step of a sum is not run: the towers' runner computes it for all of them.
size_t Plan::run_segment(const Bindings& bindings, size_t from, PlanListener* listener,
                         PlanObserver* observer) {
  if (observer && from == 0) show_inputs(bindings, *observer);
  for (size_t s = from; s < steps_.size(); ++s) {
    if (steps_[s].tower_sum > 0) return s;
    run_step(steps_[s], bindings, observer);
    if (listener) notify(s, *listener);
  }
  return steps_.size();
}

TowerVector Plan::tower_vector(size_t position, const Bindings& bindings) const {
  const Step& step = steps_[position];
  return {reinterpret_cast<const double*>(resolve_input(step.inputs[0], bindings)),
          reinterpret_cast<double*>(resolve(step.outputs[0], bindings)), step.tower_sum};
}

const void* Plan::output(const std::string& name, const std::byte* arena) const {
  for (const auto& [known, place] : outputs_) {
    if (known == name) return arena + place.offset;
  }
  fail(Category::unexpected, "the plan has no output '{}'", name);
}

// Finds entries by a linear search: there are only a few. The first run with new bindings is a
// plain one, in which libraries load their kernels; the second one records.
void CudaGraphCache::run(const Bindings& bindings, PlanListener* listener) {
  auto entry = std::find_if(entries_.begin(), entries_.end(),
                            [&](const Entry& e) { return e.bindings == bindings; });
  if (stream_.device().kind == DeviceKind::cpu || entry == entries_.end()) {
    plan_.run(bindings, listener);
    if (stream_.device().kind == DeviceKind::cuda) entries_.push_back({bindings, {}});
    return;
  }
  if (entry->segments.empty()) record(*entry, listener != nullptr);
  for (const Segment& segment : entry->segments) {
    stream_.replay(*segment.work);
    if (listener) plan_.notify(segment.end - 1, *listener);
  }
}

// Records one segment per notification, since a replay cannot call the listener within a segment.
// REQUIRES: the same bindings always come with a listener, or always without.
void CudaGraphCache::record(Entry& entry, bool notifies) {
  for (size_t begin = 0, end = 0; begin < plan_.end(); begin = end) {
    end = notifies ? plan_.next_notification(begin) : plan_.end();
    auto work = stream_.record_work([&] { plan_.run_range(entry.bindings, begin, end); });
    entry.segments.push_back({std::move(work), end});
  }
}

std::string TensorName::text() const {
  if (op == "input") return "input " + parameter;
  std::string text = parameter.empty() ? op : fmt::format("gradient of {}, by {}", parameter, op);
  if (parameter.empty() && !layer.empty()) text += " of " + layer;
  if (output > 0) text += fmt::format(", output {}", output);
  return parameter.empty() && backward ? text + ", backward" : text;
}

std::string TensorName::kernel() const {
  return layer.empty() ? op : op + " of " + layer;
}

}  // namespace spire
