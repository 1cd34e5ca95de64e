#include "engine/graph/graph.h"

#include <algorithm>
#include <set>

#include "engine/base/fail.h"

namespace spire {
namespace {

// Limits tensors so that the byte counts of a whole model fit into 64 bits; no machine has memory
// for such a tensor either.
constexpr int64_t max_elements = int64_t{1} << 40;

void check_size(const Shape& shape) {
  int64_t elements = 1;
  for (int64_t dim : shape.dims()) {
    if (__builtin_mul_overflow(elements, dim, &elements) || elements > max_elements)
      fail(Category::config, "a tensor of {} has more than 2^40 elements; make the model smaller",
           to_string(shape));
  }
}

}  // namespace

Value Graph::add_tensor(Tensor tensor) {
  check_size(tensor.spec.shape);
  tensors_.push_back(std::move(tensor));
  return {value_count() - 1};
}

Value Graph::input(const std::string& name, TensorSpec spec) {
  names_.insert(name);
  return add_tensor({.spec = spec, .role = Role::input, .name = name, .initialize = {}});
}

Value Graph::parameter(const std::string& name, Shape shape, Initializer initialize) {
  if (!names_.insert(name).second)
    fail(Category::config, "two tensors of the model are named '{}'", name);
  return add_tensor({.spec = {shape, DType::f32},
                     .role = Role::parameter,
                     .name = name,
                     .initialize = std::move(initialize)});
}

Value Graph::state(const std::string& name, Shape shape, float initial) {
  Value value =
      parameter(name, shape, [initial](const RandomStream&, int64_t, std::span<float> values) {
        std::fill(values.begin(), values.end(), initial);
      });
  tensors_.back().role = Role::state;
  return value;
}

Value Graph::add_output(const TensorSpec& spec, int producer, size_t index) {
  return add_tensor({.spec = spec,
                     .role = Role::activation,
                     .name = {},
                     .initialize = {},
                     .producer = producer,
                     .output_index = static_cast<int>(index)});
}

Value Graph::teacher(Tensor tensor) {
  if (!names_.insert(tensor.name).second)
    fail(Category::config, "two tensors of the model are named '{}'", tensor.name);
  tensor.frozen = tensor.teacher = true;
  tensor.producer = -1;
  return add_tensor(std::move(tensor));
}

std::vector<Value> Graph::emit(std::shared_ptr<const Op> op, std::vector<Value> inputs) {
  std::vector<TensorSpec> specs;
  for (Value input : inputs) specs.push_back(spec(input));
  // A new node's id is its position: random numbers depend on the recorded graph alone.
  int position = static_cast<int>(nodes_.size());
  Node node{std::move(op), std::move(inputs), {}, position, open_block_};
  for (const TensorSpec& output : node.op->infer(specs))
    node.outputs.push_back(add_output(output, position, node.outputs.size()));
  nodes_.push_back(std::move(node));
  return nodes_.back().outputs;
}

void Graph::keep_output(const std::string& name) {
  auto kept = outputs_.find(name);
  require(kept != outputs_.end(), "the graph has no output '{}'", name);
  outputs_ = {*kept};
  losses_.clear();
  state_updates_.clear();
}

void Graph::set_initializer(Value value, Initializer initialize) {
  tensors_[static_cast<size_t>(value.id)].initialize = std::move(initialize);
}

void Graph::drop_updates_from(const Node& node) {
  std::erase_if(state_updates_, [&](const StateUpdate& update) {
    return std::ranges::count(node.outputs, update.contribution) > 0;
  });
}

void Graph::set_row_pitch(Value value, int64_t elements) {
  tensors_[static_cast<size_t>(value.id)].spec.row_pitch = elements;
}

// A repetition belongs to backward and to no block: a second pass must not repeat it again.
Node Graph::repetition(const Node& node, std::vector<Value> inputs) {
  Node again{node.op, std::move(inputs), {}, node.id, -1, true};
  for (Value output : node.outputs)
    again.outputs.push_back(add_output(TensorSpec(spec(output)), -1, again.outputs.size()));
  return again;
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

// Ids must ascend: a repetition shares its id with the original, and a new one would change its
// random numbers.
void Graph::number_nodes() {
  int last = -1, position = 0;
  for (Node& node : nodes_) {
    require(node.id > last, "a graph with repetitions is numbered anew");
    last = node.id;
    node.id = position++;
  }
}

Graph::Block::Block(Graph& graph, const std::string& name)
    : graph_(graph.open_block_ < 0 ? &graph : nullptr) {
  if (!graph_) return;
  graph_->open_block_ = static_cast<int>(graph_->blocks_.size());
  graph_->blocks_.push_back(name);
}

Graph::Block::~Block() {
  if (graph_) graph_->open_block_ = -1;
}

// Computes the table of a model's layers from its forward graph.

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
                 .output_type = std::string(to_string(outputs.front().dtype)),
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
