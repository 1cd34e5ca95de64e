// Initializers, layers that fit tensors of any shape (dense, and those that only move elements),
// and layers over sequences (N, T, C): T positions of C features per sample.
#include <algorithm>
#include <cmath>

#include <spire/layers.h>

#include "engine/base/fail.h"
#include "engine/base/random_numbers.h"
#include "kernels/ops/attention/attention.h"
#include "kernels/ops/bias/bias.h"
#include "kernels/ops/concat/concat.h"
#include "kernels/ops/dense/dense.h"
#include "kernels/ops/dropout/dropout.h"
#include "kernels/ops/elementwise/elementwise.h"
#include "kernels/ops/expand/expand.h"
#include "kernels/ops/gather/gather.h"
#include "kernels/ops/group_norm/group_norm.h"
#include "kernels/ops/matmul/matmul.h"
#include "kernels/ops/recurrent/recurrent.h"
#include "kernels/ops/reshape/reshape.h"
#include "kernels/ops/rope/rope.h"
#include "kernels/ops/row_norm/row_norm.h"
#include "kernels/ops/transpose/transpose.h"

namespace spire {

namespace {

// Returns a negative axis as one that counts from the first.
int counted_from_first(const Graph& graph, Value x, int axis) {
  return axis < 0 ? axis + graph.spec(x).shape.rank() : axis;
}

}  // namespace

namespace init {

Initializer uniform(float bound) {
  return [bound](const RandomStream& random, int64_t first, std::span<float> values) {
    uniform_numbers(random, first, values);
    for (float& value : values) value = (2.0f * value - 1.0f) * bound;
  };
}

Initializer kaiming_uniform(int64_t fan_in) {
  return uniform(std::sqrt(6.0f / static_cast<float>(fan_in)));
}

Initializer linear_uniform(int64_t fan_in) {
  return uniform(1.0f / std::sqrt(static_cast<float>(fan_in)));
}

Initializer kaiming_normal(int64_t fan_out) {
  return normal(std::sqrt(2.0 / static_cast<double>(fan_out)));
}

Initializer normal(double deviation) {
  return [scale = static_cast<float>(deviation)](const RandomStream& random, int64_t first,
                                                 std::span<float> values) {
    normal_numbers(random, first, values);
    for (float& value : values) value *= scale;
  };
}

Initializer constant(float value) {
  return [value](const RandomStream&, int64_t, std::span<float> values) {
    std::fill(values.begin(), values.end(), value);
  };
}

}  // namespace init

Value dense(Graph& graph, const std::string& name, Value x, int64_t units, bool bias,
            Initializer initialize) {
  int64_t inputs = graph.spec(x).shape.back();
  if (!initialize) initialize = init::kaiming_uniform(inputs);
  std::vector<Value> operands = {x, graph.parameter(name + ".weight", {units, inputs}, initialize)};
  if (bias) operands.push_back(graph.parameter(name + ".bias", {units}, init::constant(0)));
  return graph.emit_op<DenseOp>(operands, DenseAttributes{.bias = bias})[0];
}

Value dropout(Graph& graph, Value x, float rate) {
  if (!graph.training() || rate == 0.0f) return x;
  return graph.emit_op<DropoutOp>({x}, DropoutAttributes{.rate = rate})[0];
}

Value matmul(Graph& graph, Value a, Value b) {
  return graph.emit_op<MatmulOp>({a, b})[0];
}

Value concat(Graph& graph, const std::vector<Value>& parts, int axis) {
  return graph.emit_op<ConcatOp>(parts, axis)[0];
}

Value reshape(Graph& graph, Value x, Shape shape) {
  return graph.emit_op<ReshapeOp>({x}, shape)[0];
}

Value flatten(Graph& graph, Value x) {
  return graph.emit_op<FlattenOp>({x})[0];
}

Value transpose(Graph& graph, Value x, std::vector<int> axes) {
  return graph.emit_op<TransposeOp>({x}, std::move(axes))[0];
}

Value slice(Graph& graph, Value x, int axis, int64_t begin, int64_t length) {
  SliceAttributes attributes{counted_from_first(graph, x, axis), begin, length};
  return graph.emit_op<SliceOp>({x}, attributes)[0];
}

Value gather(Graph& graph, Value x, Value indices, int axis) {
  return graph.emit_op<GatherOp>({x, indices}, counted_from_first(graph, x, axis))[0];
}

Value expand(Graph& graph, Value x, int64_t count, DType dtype) {
  return graph.emit_op<ExpandOp>({x}, ExpandAttributes{.count = count, .dtype = dtype})[0];
}

// Layers over sequences.

Value layer_norm(Graph& graph, const std::string& name, Value x, float epsilon) {
  Shape width = {graph.spec(x).shape.back()};
  Value gamma = graph.parameter(name + ".gamma", width, init::constant(1));
  Value beta = graph.parameter(name + ".beta", width, init::constant(0));
  return graph.emit_op<LayerNormOp>({x, gamma, beta}, LayerNormAttributes{.epsilon = epsilon})[0];
}

Value rms_norm(Graph& graph, const std::string& name, Value x, float epsilon) {
  Value gamma = graph.parameter(name + ".gamma", {graph.spec(x).shape.back()}, init::constant(1));
  return graph.emit_op<RmsNormOp>({x, gamma}, RmsNormAttributes{.epsilon = epsilon})[0];
}

Value group_norm(Graph& graph, const std::string& name, Value x, int64_t groups, float epsilon) {
  Shape channels = {graph.spec(x).shape.back()};
  Value gamma = graph.parameter(name + ".gamma", channels, init::constant(1));
  Value beta = graph.parameter(name + ".beta", channels, init::constant(0));
  return graph.emit_op<GroupNormOp>({x, gamma, beta},
                                    GroupNormAttributes{.groups = groups, .epsilon = epsilon})[0];
}

// An image of height 1.
Value conv1d(Graph& graph, const std::string& name, Value x, const Conv1dOptions& options) {
  Shape in = graph.spec(x).shape;
  if (in.rank() != 3) fail(Category::config, "[conv1d] takes (N, T, C), got {}", to_string(in));
  Value y = conv2d(graph, name, reshape(graph, x, {in[0], 1, in[1], in[2]}),
                   {.channels = options.channels,
                    .kernel = {1, options.kernel},
                    .stride = {1, options.stride},
                    .padding = {0, options.padding},
                    .dilation = {1, options.dilation},
                    .groups = options.groups,
                    .bias = options.bias,
                    .initialize = options.initialize});
  const Shape& out = graph.spec(y).shape;
  return reshape(graph, y, {out[0], out[2], out[3]});
}

namespace {

// The product of all inputs at once, then the steps.
Value recurrent(Graph& graph, const std::string& name, Value x, const RecurrentOptions& options,
                RecurrentCell cell) {
  Shape in = graph.spec(x).shape;
  if (in.rank() != 3)
    fail(Category::config, "[{}] takes (N, T, F), got {}", RecurrentOp({cell}).name(),
         to_string(in));
  int64_t rows = gates_of(cell) * options.units;
  Initializer initialize = init::linear_uniform(options.units);
  Value weight_ih = graph.parameter(name + ".weight_ih", {rows, in[2]}, initialize);
  Value weight_hh = graph.parameter(name + ".weight_hh", {rows, options.units}, initialize);
  Value bias_ih = graph.parameter(name + ".bias_ih", {rows}, initialize);
  Value bias_hh = graph.parameter(name + ".bias_hh", {rows}, initialize);
  Value gates = graph.emit_op<DenseOp>({x, weight_ih, bias_ih}, DenseAttributes{.bias = true})[0];
  Value y =
      graph.emit_op<RecurrentOp>({gates, weight_hh, bias_hh}, RecurrentAttributes{.cell = cell})[0];
  if (!options.last) return y;
  return reshape(graph, slice(graph, y, 1, in[1] - 1, 1), {in[0], options.units});
}

}  // namespace

Value lstm(Graph& graph, const std::string& name, Value x, const RecurrentOptions& options) {
  return recurrent(graph, name, x, options, RecurrentCell::lstm);
}

Value gru(Graph& graph, const std::string& name, Value x, const RecurrentOptions& options) {
  return recurrent(graph, name, x, options, RecurrentCell::gru);
}

Embedding embedding(Graph& graph, const std::string& name, Value ids, int64_t vocabulary,
                    int64_t width, DType dtype, Initializer initialize) {
  Value table = graph.parameter(name + ".weight", {vocabulary, width}, std::move(initialize));
  return {graph.emit_op<EmbeddingOp>({ids, table}, EmbeddingAttributes{.dtype = dtype})[0], table};
}

Value tied_dense(Graph& graph, Value table, Value x) {
  return graph.emit_op<DenseOp>({x, table})[0];
}

// Adds a bias over the T C elements of a sample. Views turn them into one axis, so BiasOp fits.
Value position_embedding(Graph& graph, const std::string& name, Value x, Initializer initialize,
                         int64_t positions) {
  Shape shape = graph.spec(x).shape, sample(shape.dims().subspan(1)), table = sample;
  if (positions > 0) table[0] = positions;
  Value weight = graph.parameter(name + ".weight", table, std::move(initialize));
  if (table != sample) weight = slice(graph, weight, 0, 0, sample[0]);
  Value rows = reshape(graph, x, {shape[0], sample.elements()});
  Value flat = reshape(graph, weight, {sample.elements()});
  return reshape(graph, graph.emit_op<BiasOp>({rows, flat})[0], shape);
}

// In fp32, as BiasOp adds.
Value position_embedding(Graph& graph, const std::string& name, Value x, Value at,
                         Initializer initialize, int64_t positions) {
  DType dtype = graph.spec(x).dtype;
  Value rows = embedding(graph, name, at, positions, graph.spec(x).shape.back(), DType::f32,
                         std::move(initialize))
                   .output;
  if (dtype == DType::f32) return add(graph, x, rows);
  return cast(graph, add(graph, cast(graph, x, DType::f32), rows), dtype);
}

Value attention(Graph& graph, Value qkv, const AttentionOptions& options) {
  // qkv stays one tensor: the op reads its three parts in place.
  AttentionAttributes attributes{.heads = options.heads,
                                 .causal = options.causal,
                                 .dropout = graph.training() ? options.dropout : 0.0f,
                                 .kv_heads = options.kv_heads,
                                 .documents = bool(options.positions)};
  std::vector<Value> inputs = {qkv};
  if (options.positions) inputs.push_back(options.positions);
  return graph.emit_op<AttentionOp>(inputs, attributes)[0];
}

Value rope(Graph& graph, Value x, const RopeOptions& options) {
  RopeAttributes attributes{.heads = options.heads, .size = options.size, .theta = options.theta};
  attributes.positioned = bool(options.positions);
  std::vector<Value> inputs = {x};
  if (options.positions) inputs.push_back(options.positions);
  return graph.emit_op<RopeOp>(inputs, attributes)[0];
}

namespace {

Value activation(Graph& graph, Value x, Activation kind) {
  return graph.emit_op<ActivationOp>({x}, ActivationAttributes{.kind = kind})[0];
}

}  // namespace

Value relu(Graph& graph, Value x) {
  return activation(graph, x, Activation::relu);
}
Value leaky_relu(Graph& graph, Value x, float slope) {
  ActivationAttributes leaky{.kind = Activation::leaky_relu, .slope = slope};
  return graph.emit_op<ActivationOp>({x}, leaky)[0];
}
Value gelu(Graph& graph, Value x) {
  return activation(graph, x, Activation::gelu);
}
Value gelu_tanh(Graph& graph, Value x) {
  return activation(graph, x, Activation::gelu_tanh);
}
Value silu(Graph& graph, Value x) {
  return activation(graph, x, Activation::silu);
}
Value swiglu(Graph& graph, Value x) {
  return graph.emit_op<SwigluOp>({x})[0];
}
Value sigmoid(Graph& graph, Value x) {
  return activation(graph, x, Activation::sigmoid);
}
Value tanh(Graph& graph, Value x) {
  return activation(graph, x, Activation::tanh);
}

Value add(Graph& graph, Value a, Value b) {
  return graph.emit_op<AddOp>({a, b})[0];
}

Value mul(Graph& graph, Value a, Value b) {
  return graph.emit_op<MulOp>({a, b})[0];
}

Value sub(Graph& graph, Value a, Value b) {
  return graph.emit_op<SubOp>({a, b})[0];
}

Value div(Graph& graph, Value a, Value b) {
  return graph.emit_op<DivOp>({a, b})[0];
}

Value scale(Graph& graph, Value x, float factor, float offset) {
  ActivationAttributes affine{.kind = Activation::affine, .factor = factor, .offset = offset};
  return graph.emit_op<ActivationOp>({x}, affine)[0];
}

Value exp(Graph& graph, Value x) {
  return activation(graph, x, Activation::exp);
}
Value log(Graph& graph, Value x) {
  return activation(graph, x, Activation::log);
}
Value square(Graph& graph, Value x) {
  return activation(graph, x, Activation::square);
}
Value sqrt(Graph& graph, Value x) {
  return activation(graph, x, Activation::sqrt);
}
Value abs(Graph& graph, Value x) {
  return activation(graph, x, Activation::abs);
}

Value cast(Graph& graph, Value x, DType dtype) {
  if (graph.spec(x).dtype == dtype) return x;
  return graph.emit_op<CastOp>({x}, dtype)[0];
}

}  // namespace spire
