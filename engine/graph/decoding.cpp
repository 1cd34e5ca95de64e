#include "engine/graph/decoding.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "engine/graph/passes.h"
#include "kernels/ops/attention/attention.h"
#include "kernels/ops/cached_attention/cached_attention.h"
#include "kernels/ops/concat/concat.h"
#include "kernels/ops/elementwise/elementwise.h"
#include "kernels/ops/gather/gather.h"
#include "kernels/ops/reshape/reshape.h"
#include "kernels/ops/rope/rope.h"

namespace spire {
namespace {

// Records the nodes of `from` once more, for other rows.
class DecodingBuilder {
 public:
  DecodingBuilder(const Graph& from, int64_t rows, KeyValueCache& cache)
      : from_(from), to_(false, from.compute_dtype()), cache_(cache), rows_(rows) {
    Value tokens = from.values_of(Role::input).front();
    const TensorSpec& spec = from.spec(tokens);
    batch_ = spec.shape[0];
    length_ = spec.shape[1];
    TensorSpec ids{{batch_, rows}, DType::i32};
    made_[tokens.id] = {to_.input(from.tensor(tokens).name, ids), false};
    positions_ = to_.input("positions", ids);
  }

  std::optional<Graph> build() {
    for (const Node& node : from_.nodes())
      if (!record(node)) return {};
    Value output = made(from_.outputs().at("output"));
    if (!output) return {};
    to_.mark_output("output", output);
    return std::move(to_);
  }

 private:
  // What stands for a tensor of `from`: (N, R, ..) for (N, T, ..). flat: for (N, T * ..), the same
  // numbers with one axis for the positions and columns of a sample.
  struct Made {
    Value value;
    bool flat = false;
  };
  bool record(const Node& node) {
    if (reads_parameters_only(node)) return true;  // add_positions() finds what it reads
    std::string_view op = node.op->name();
    if (op == "slice")
      return static_cast<const SliceOp&>(*node.op).attributes().axis >= 2 && same(node);
    if (op == "concat") return concat_axis(node) >= 2 && same(node);
    if (op == "bias") return bias(node);
    if (op == "reshape" || op == "flatten") return reshape(node);
    if (op == "attention") return attend(node);
    if (op == "rope") return rotate(node);
    return computes_rows_alone(*node.op) && same(node);
  }

  int concat_axis(const Node& node) const {
    return static_cast<const ConcatOp&>(*node.op).axis_of(from_.spec(node.inputs[0]));
  }

  static bool computes_rows_alone(const Op& op) {
    constexpr std::string_view names[] = {"embedding", "dense", "layer_norm", "rms_norm",
                                          "swiglu",    "add",   "sub",        "mul",
                                          "div",       "cast",  "softmax",    "log_softmax"};
    return dynamic_cast<const ActivationOp*>(&op) ||
           std::ranges::find(names, op.name()) != std::end(names);
  }

  bool reads_parameters_only(const Node& node) {
    for (Value input : node.inputs)
      if (from_.tensor(input).role != Role::parameter && !tables_.contains(input.id)) return false;
    for (Value output : node.outputs) tables_.insert(output.id);
    return true;
  }

  // Returns whether a tensor of `from` is (N, T, ..) with columns: an op over its last axis then
  // computes each position alone. Tokens are (N, T).
  bool has_rows(Value value) const {
    const TensorSpec& spec = from_.spec(value);
    return spec.shape.rank() >= (spec.dtype == DType::i32 ? 2 : 3) && spec.shape[0] == batch_ &&
           spec.shape[1] == length_;
  }

  // Returns the tensor that stands for one of `from` with rows, or a parameter; else no value.
  Value made(Value value) {
    const Tensor& tensor = from_.tensor(value);
    if (tensor.role == Role::parameter) return parameter(value);
    auto found = made_.find(value.id);
    bool rows = found != made_.end() && !found->second.flat && has_rows(value);
    return rows ? found->second.value : Value{};
  }

  Value parameter(Value value) {
    auto [place, is_new] = parameters_.try_emplace(value.id);
    const Tensor& tensor = from_.tensor(value);
    if (is_new) place->second = to_.parameter(tensor.name, tensor.spec.shape, tensor.initialize);
    return place->second;
  }

  // The same op, for other rows.
  bool same(const Node& node) {
    std::vector<Value> inputs;
    for (Value input : node.inputs)
      if (!inputs.emplace_back(made(input))) return false;
    made_[node.outputs[0].id] = {to_.emit(node.op, std::move(inputs))[0]};
    return true;
  }

  // To (N, T, ..), or of a sample's numbers to one axis.
  bool reshape(const Node& node) {
    auto found = made_.find(node.inputs[0].id);
    if (found == made_.end()) return false;
    Value value = found->second.value;
    const Shape& shape = from_.spec(node.outputs[0]).shape;
    if (has_rows(node.outputs[0])) {
      std::vector<int64_t> dims(shape.dims().begin(), shape.dims().end());
      dims[1] = rows_;
      made_[node.outputs[0].id] = {to_.emit_op<ReshapeOp>({value}, Shape(dims))[0]};
      return true;
    }
    made_[node.outputs[0].id] = {value, true};
    return shape.rank() == 2 && shape[0] == batch_;
  }

  bool bias(const Node& node) {
    auto found = made_.find(node.inputs[0].id);
    if (found == made_.end()) return false;
    if (!found->second.flat) return same(node);
    Value table = position_table(node.inputs[1]);
    if (!table) return false;
    made_[node.outputs[0].id] = {add_positions(found->second.value, parameter(table)), true};
    return true;
  }

  // Returns the parameter (positions, C) whose first T rows a bias (T * C) has, as
  // position_embedding() makes it; else no value.
  Value position_table(Value bias) const {
    int64_t numbers = from_.spec(bias).shape.elements();
    while (from_.tensor(bias).role == Role::activation) {
      const Node& node = from_.nodes()[static_cast<size_t>(from_.tensor(bias).producer)];
      const auto* slice = dynamic_cast<const SliceOp*>(node.op.get());
      bool first_rows = slice && slice->attributes().axis == 0 && slice->attributes().begin == 0;
      if (!first_rows && !node.op->is_view()) return {};
      bias = node.inputs[0];
    }
    const TensorSpec& spec = from_.spec(bias);
    bool fits = spec.shape.rank() == 2 && spec.shape[1] * length_ == numbers;
    return fits ? bias : Value{};
  }

  // Adds each row's row of the table, in fp32 as BiasOp does.
  Value add_positions(Value x, Value table) {
    const TensorSpec spec = to_.spec(x);
    Value rows = to_.emit_op<EmbeddingOp>({positions_, table}, EmbeddingAttributes{DType::f32})[0];
    rows = to_.emit_op<ReshapeOp>({rows}, spec.shape)[0];
    if (spec.dtype == DType::f32) return to_.emit_op<AddOp>({x, rows})[0];
    Value sum = to_.emit_op<AddOp>({to_.emit_op<CastOp>({x}, DType::f32)[0], rows})[0];
    return to_.emit_op<CastOp>({sum}, spec.dtype)[0];
  }

  // Rotary positions are those of the rows.
  bool rotate(const Node& node) {
    RopeAttributes attributes = static_cast<const RopeOp&>(*node.op).attributes();
    Value x = made(node.inputs[0]);
    if (!x || attributes.positioned) return false;
    attributes.positioned = true;
    made_[node.outputs[0].id] = {to_.emit_op<RopeOp>({x, positions_}, attributes)[0]};
    return true;
  }

  bool attend(const Node& node) {
    const auto& attributes = static_cast<const AttentionOp&>(*node.op).attributes();
    Value qkv = made(node.inputs[0]);
    if (!qkv || !attributes.causal || attributes.documents) return false;
    PackedHeads heads = packed_heads(attributes, from_.spec(node.inputs[0]).shape);
    CachedAttentionAttributes cached{.heads = attributes.heads,
                                     .kv_heads = heads.kv_heads,
                                     .window = length_,
                                     .layer = layers_++,
                                     .cache = &cache_};
    made_[node.outputs[0].id] = {to_.emit_op<CachedAttentionOp>({qkv, positions_}, cached)[0]};
    return true;
  }

  const Graph& from_;
  Graph to_;
  KeyValueCache& cache_;
  int64_t batch_, length_, rows_;  // N, T, R
  Value positions_;
  int layers_ = 0;                   // of attention, so far
  std::map<int, Made> made_;         // by ids of `from`
  std::map<int, Value> parameters_;  // by ids of `from`
  std::set<int> tables_;             // ids of what is computed of parameters alone
};

}  // namespace

std::optional<Graph> decoding_graph(Graph window, int64_t rows, KeyValueCache& cache) {
  window.keep_output("output");
  remove_dead_nodes(window);
  return DecodingBuilder(window, rows, cache).build();
}

}  // namespace spire
