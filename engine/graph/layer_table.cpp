// Computes the table of a model's layers from its forward graph.
#include <set>

#include "engine/graph/graph.h"

namespace spire {
namespace {

bool belongs_to_layer(const Tensor& tensor) {
  return tensor.role == Role::parameter || tensor.role == Role::state;
}

// Returns the layer's name, the prefix of its first parameter ("conv1" of "conv1.weight"); for a
// node without one the op's name.
std::string name_of(const Graph& graph, const Node& node) {
  for (Value input : node.inputs) {
    const Tensor& tensor = graph.tensor(input);
    if (belongs_to_layer(tensor)) return tensor.name.substr(0, tensor.name.rfind('.'));
  }
  return std::string(node.op->name());
}

std::vector<TensorSpec> specs_of(const Graph& graph, const std::vector<Value>& values) {
  std::vector<TensorSpec> specs;
  for (Value value : values) specs.push_back(graph.spec(value));
  return specs;
}

}  // namespace

std::vector<LayerRow> layer_table(const Graph& graph) {
  std::vector<LayerRow> rows;
  std::set<int> counted;  // parameters so far: tied weights count once
  for (const Node& node : graph.nodes()) {
    auto outputs = specs_of(graph, node.outputs);
    std::span<const int64_t> dims = outputs.front().shape.dims();
    LayerRow row{.name = name_of(graph, node),
                 .op = std::string(node.op->name()),
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
