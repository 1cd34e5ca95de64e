#include "tools/performance/op_work.h"

#include <algorithm>
#include <functional>
#include <span>

#include <fmt/ranges.h>

namespace spire {
namespace {

// Names each node's layer by the parameter that the node reads, or whose gradient it makes.
class LayerNames {
 public:
  LayerNames(const Graph& graph, const std::vector<ParameterGradient>& gradients)
      : graph_(graph), parameter_(static_cast<size_t>(graph.value_count())) {
    for (Value parameter : graph.values_of(Role::parameter)) name_after(parameter, parameter);
    for (const auto& [parameter, gradient] : gradients) {
      name_after(gradient, parameter);
      name_addends(gradient, parameter);
    }
  }

  std::string of(const Node& node) const {
    for (const auto* values : {&node.inputs, &node.outputs}) {
      for (Value value : *values) {
        const std::string& name = parameter_[static_cast<size_t>(value.id)];
        if (!name.empty()) return name.substr(0, name.rfind('.'));
      }
    }
    return {};
  }

 private:
  // A parameter with several uses has one gradient each, which are added up; the addends belong to
  // the same layer.
  void name_addends(Value gradient, Value parameter) {
    int producer = graph_.tensor(gradient).producer;
    if (producer < 0) return;
    for (Value input : graph_.nodes()[static_cast<size_t>(producer)].inputs) {
      bool addend = graph_.tensor(input).role == Role::activation &&
                    graph_.spec(input) == graph_.spec(gradient);
      if (!addend) continue;
      name_after(input, parameter);
      name_addends(input, parameter);
    }
  }
  void name_after(Value value, Value parameter) {
    parameter_[static_cast<size_t>(value.id)] = graph_.tensor(parameter).name;
  }

  const Graph& graph_;
  std::vector<std::string> parameter_;  // by tensor
};

DType compute_type(const Graph& graph, const Node& node) {
  for (const auto* values : {&node.inputs, &node.outputs}) {
    for (Value value : *values) {
      if (size_of(graph.spec(value).dtype) == 2) return graph.spec(value).dtype;
    }
  }
  return DType::f32;
}

double bytes_of(const Graph& graph, const Node& node, bool product) {
  std::string_view op = node.op->name();
  int64_t touched = INT64_MAX;  // elements of a table
  if (op.starts_with("embedding")) {
    Value activation = node.backward ? node.inputs[0] : node.outputs[0];
    touched = graph.spec(activation).shape.elements();
  }
  double bytes = 0;
  auto add = [&](Value value, double times) {
    TensorSpec spec = graph.spec(value);
    if (product && graph.tensor(value).role == Role::parameter)
      spec.dtype = compute_type(graph, node);
    bytes += times * static_cast<double>(std::min(spec.shape.elements(), touched)) *
             static_cast<double>(size_of(spec.dtype));
  };
  for (Value value : node.inputs) add(value, 1);
  for (Value value : node.outputs) add(value, 1);
  // Batch norm's second pass reads x again and, backward, the gradient: dresidual where the first
  // pass has written that.
  if (op != "batch_norm" && op != "batch_norm_backward") return bytes;
  add(node.inputs[node.backward ? 1 : 0], 1);
  if (node.backward) add(node.outputs.size() == 4 ? node.outputs[3] : node.inputs[0], 1);
  return bytes;
}

std::string shapes_text(std::span<const TensorSpec> tensors) {
  std::vector<std::string> texts;
  for (const TensorSpec& tensor : tensors) {
    auto dims = tensor.shape.dims();
    texts.push_back(dims.empty() ? "1" : fmt::format("{}", fmt::join(dims, "x")));
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

OpWork work_of_node(const Graph& graph, const Node& node, const LayerNames& names) {
  std::vector<TensorSpec> inputs, outputs;
  for (Value value : node.inputs) inputs.push_back(graph.spec(value));
  for (Value value : node.outputs) outputs.push_back(graph.spec(value));
  double flops = 2 * static_cast<double>(node.op->multiply_adds(inputs, outputs));
  return {.layer = names.of(node),
          .op = std::string(node.op->name()),
          .shapes = shapes_text(inputs) + " -> " + shapes_text(outputs),
          .pass = node.backward ? Pass::backward : Pass::forward,
          .type = compute_type(graph, node),
          .flops = flops,
          .bytes = bytes_of(graph, node, flops > 0)};
}

void add(OpTime& sum, const OpTime& op) {
  sum.flops += op.flops;
  sum.bytes += op.bytes;
  sum.seconds += op.seconds;
  sum.roofline_seconds += op.roofline_seconds;
}

}  // namespace

std::string word_of(Pass pass) {
  if (pass == Pass::update) return "update";
  return pass == Pass::backward ? "backward" : "forward";
}

std::vector<OpWork> work_of(const Graph& graph, const std::vector<ParameterGradient>& gradients) {
  LayerNames names(graph, gradients);
  std::vector<OpWork> work;
  for (const Node& node : graph.nodes()) {
    if (!node.op->is_view()) work.push_back(work_of_node(graph, node, names));
  }
  return work;
}

double Roofline::seconds(const OpWork& op) const {
  double share = op.op.starts_with("conv")        ? convolution
                 : op.op.starts_with("attention") ? attention
                                                  : product;
  double rate = share * peak(op.type);
  double arithmetic = rate > 0 ? op.flops / rate : 0;
  double launches = op.op.starts_with("batch_norm") ? 2 : 1;
  return std::max(arithmetic, bytes_seconds(op.bytes)) + launches * launch_seconds;
}

OpTime sum_of(const std::vector<OpTime>& ops, std::optional<Pass> pass) {
  OpTime sum;
  for (const OpTime& op : ops)
    if (!pass || op.pass == *pass) add(sum, op);
  return sum;
}

std::vector<OpTime> sums_by_kind(const std::vector<OpTime>& ops) {
  std::vector<OpTime> kinds;
  for (const OpTime& op : ops) {
    auto known =
        std::ranges::find_if(kinds, [&](const OpTime& kind) { return kind.same_kind(op); });
    if (known == kinds.end()) {
      kinds.push_back(op);
    } else {
      add(*known, op);
    }
  }
  std::ranges::stable_sort(kinds, std::ranges::greater{}, &OpTime::seconds);
  return kinds;
}

}  // namespace spire
