// Computes the table of a model's layers from its forward graph.
#include <set>

#include "engine/graph/graph.h"

namespace spire {
namespace {

std::vector<TensorSpec> specs_of(const Graph& graph, const std::vector<Value>& values) {
  std::vector<TensorSpec> specs;
  for (Value value : values) specs.push_back(graph.spec(value));
  return specs;
}

}  // namespace

std::string layer_name(const Graph& graph, const Node& node) {
  for (Value input : node.inputs) {
    const Tensor& tensor = graph.tensor(input);
    if (tensor.role == Role::parameter || tensor.role == Role::state)
      return tensor.name.substr(0, tensor.name.rfind('.'));
  }
  return "";
}

std::vector<LayerRow> layer_table(const Graph& graph) {
  std::vector<LayerRow> rows;
  std::set<int> counted;  // parameters so far: tied weights count once
  for (const Node& node : graph.nodes()) {
    auto outputs = specs_of(graph, node.outputs);
    std::span<const int64_t> dims = outputs.front().shape.dims();
    std::string layer = layer_name(graph, node), op(node.op->name());
    LayerRow row{.name = layer.empty() ? op : layer,
                 .op = op,
                 .output_shape = {dims.begin(), dims.end()},
                 .output_type = std::string(name(outputs.front().dtype)),
                 .multiply_adds = node.op->multiply_adds(specs_of(graph, node.inputs), outputs)};
    for (Value input : node.inputs) {
      bool first = graph.tensor(input).role == Role::parameter && counted.insert(input.id).second;
      if (first) row.parameters += graph.spec(input).shape.elements();
    }
    // A view has no memory of its own.
    for (const TensorSpec& output : outputs) {
      if (!node.op->is_view()) row.activation_bytes += output.bytes();
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

LayerRow total_of(const std::vector<LayerRow>& rows) {
  LayerRow total;
  total.name = "total";
  for (const LayerRow& row : rows) {
    total.parameters += row.parameters;
    total.multiply_adds += row.multiply_adds;
    total.activation_bytes += row.activation_bytes;
  }
  return total;
}

}  // namespace spire
