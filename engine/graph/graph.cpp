#include <spire/graph/graph.h>

#include <algorithm>

namespace spire {

Value Graph::add_tensor(Tensor tensor) {
  tensors_.push_back(std::move(tensor));
  return {value_count() - 1};
}

Value Graph::input(const std::string& name, TensorSpec spec) {
  return add_tensor({.spec = spec, .role = Role::input, .name = name, .initialize = {}});
}

Value Graph::parameter(const std::string& name, Shape shape, Initializer initialize) {
  for (const auto& other : tensors_) {
    if (other.name == name) fail(Category::config, "two tensors of the model are named '{}'", name);
  }
  return add_tensor({.spec = {shape, DType::f32},
                     .role = Role::parameter,
                     .name = name,
                     .initialize = std::move(initialize)});
}

Value Graph::state(const std::string& name, Shape shape, float initial) {
  Value value = parameter(name, shape, [initial](const RandomStream&, std::span<float> values) {
    std::fill(values.begin(), values.end(), initial);
  });
  tensors_.back().role = Role::state;
  return value;
}

std::vector<Value> Graph::emit(std::unique_ptr<Op> op, std::vector<Value> inputs) {
  std::vector<TensorSpec> specs;
  for (Value input : inputs) specs.push_back(spec(input));
  Node node{std::move(op), std::move(inputs), {}};
  int producer = static_cast<int>(nodes_.size());
  for (const TensorSpec& output : node.op->infer(specs)) {
    node.outputs.push_back(add_tensor({.spec = output,
                                       .role = Role::activation,
                                       .name = {},
                                       .initialize = {},
                                       .producer = producer,
                                       .output_index = static_cast<int>(node.outputs.size())}));
  }
  nodes_.push_back(std::move(node));
  return nodes_.back().outputs;
}

std::vector<Value> Graph::values_of(Role role) const {
  std::vector<Value> values;
  for (int id = 0; id < value_count(); ++id) {
    if (tensor({id}).role == role) values.push_back({id});
  }
  return values;
}

void Graph::reindex() {
  for (auto& tensor : tensors_) tensor.producer = -1;
  for (size_t n = 0; n < nodes_.size(); ++n) {
    for (size_t i = 0; i < nodes_[n].outputs.size(); ++i) {
      Tensor& tensor = tensors_[static_cast<size_t>(nodes_[n].outputs[i].id)];
      tensor.producer = static_cast<int>(n);
      tensor.output_index = static_cast<int>(i);
    }
  }
}

}  // namespace spire
