// Layer functions, by which models are written. Each records its ops and parameters in the graph
// and returns the output. `name` prefixes parameter names ("conv1" -> "conv1.weight"). Weights have
// PyTorch's shapes: convolution (O, I/groups, KH, KW), dense (out, in).
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "engine/graph/graph.h"
#include "kernels/ops/regression_loss/regression_loss.h"
#include "kernels/ops/resize/resize.h"
#include "kernels/window.h"

namespace spire::inline graph {

// He et al., "Delving Deep into Rectifiers", 2015.
Initializer kaiming_uniform(int64_t fan_in);  // in +-sqrt(6 / fan_in)
Initializer kaiming_normal(int64_t fan_out);  // N(0, sqrt(2 / fan_out))
Initializer linear_uniform(int64_t fan_in);   // +-1 / sqrt(fan_in), where no relu follows
Initializer uniform(float bound);             // in +-bound
Initializer normal(double deviation);         // N(0, deviation)
Initializer constant(float value);

struct Conv2dOptions {
  int64_t channels = 1;  // of the output
  Extent2d kernel{3, 3};
  Extent2d stride{1, 1};
  Extent2d padding{0, 0};
  Extent2d dilation{1, 1};
  int64_t groups = 1;
  bool bias = true;
  Initializer initialize = {};  // of the weight; default kaiming_uniform(fan_in)
};
Value conv2d(Graph& graph, const std::string& name, Value x, const Conv2dOptions& options);

// Transposed convolution, x (N, H, W, C) -> (N, OH, OW, channels), weight (C, channels, KH, KW),
// with OH = (H - 1) * stride - 2 padding + kernel + output_padding.
struct ConvTranspose2dOptions {
  int64_t channels = 1;  // of the output
  Extent2d kernel{3, 3};
  Extent2d stride{1, 1};
  Extent2d padding{0, 0};
  Extent2d output_padding{0, 0};  // less than the stride
  bool bias = true;
  Initializer initialize = {};  // of the weight; default kaiming_uniform of what an output sums
};
Value conv_transpose2d(Graph& graph, const std::string& name, Value x,
                       const ConvTranspose2dOptions& options);

// x (.., K) -> (.., units). initialize: the weight; default kaiming_uniform(K), as for a relu.
Value dense(Graph& graph, const std::string& name, Value x, int64_t units, bool bias = true,
            Initializer initialize = {});
// Looks up rows of name.weight (vocabulary, width), the table: ids i32 (..) -> (.., width).
struct Embedding {
  Value output, table;  // output of `dtype`; table for an output layer with tied weights
};
Embedding embedding(Graph& graph, const std::string& name, Value ids, int64_t vocabulary,
                    int64_t width, DType dtype, Initializer initialize);
// Dense without bias by another layer's table: x (.., K), table (V, K) -> (.., V).
Value tied_dense(Graph& graph, Value table, Value x);
// Adds the first T rows of name.weight (positions, C; 0: T) to each sample of x (N, T, C).
Value position_embedding(Graph& graph, const std::string& name, Value x, Initializer initialize,
                         int64_t positions = 0);

struct AttentionOptions {
  int64_t heads = 1;
  bool causal = false;
  float dropout = 0;  // rate for attention weights, in training
};
// qkv (N, T, 3C) -> (N, T, C): C columns each of queries, keys and values, head by head.
Value attention(Graph& graph, Value qkv, const AttentionOptions& options);

struct BatchNormOptions {
  float epsilon = 1e-5f;
  float momentum = 0.1f;  // share of the newest batch in the running statistics
  float gamma = 1.0f;     // initial value
  bool sync = false;      // statistics over all towers
};
// Normalizes by the tower's batch (sync: the global one); in evaluation by running statistics.
Value batch_norm(Graph& graph, const std::string& name, Value x,
                 const BatchNormOptions& options = {});

// Normalizes the last axis; parameters name.gamma (1) and name.beta (0).
Value layer_norm(Graph& graph, const std::string& name, Value x, float epsilon = 1e-5f);

Value relu(Graph& graph, Value x);
Value leaky_relu(Graph& graph, Value x, float slope = 0.01f);
Value gelu(Graph& graph, Value x);
Value gelu_tanh(Graph& graph, Value x);  // the tanh approximation, as in GPT-2
Value sigmoid(Graph& graph, Value x);
Value tanh(Graph& graph, Value x);

struct PoolOptions {
  Extent2d kernel{2, 2};
  Extent2d stride{2, 2};
  Extent2d padding{0, 0};
};
Value max_pool2d(Graph& graph, Value x, const PoolOptions& options = {});
Value avg_pool2d(Graph& graph, Value x, const PoolOptions& options = {});
Value global_avg_pool(Graph& graph, Value x);  // (N, H, W, C) -> (N, C)
// (N, H, W, C) -> (N, size, C), as PyTorch's interpolate with align_corners=false.
Value resize(Graph& graph, Value x, Extent2d size, Resize kind);
Value pad_channels(Graph& graph, Value x, int64_t channels);  // by zeros, up to `channels`

Value add(Graph& graph, Value a, Value b);
Value mul(Graph& graph, Value a, Value b);
Value concat(Graph& graph, const std::vector<Value>& parts, int axis);
Value reshape(Graph& graph, Value x, Shape shape);
Value flatten(Graph& graph, Value x);                           // (N, ..) -> (N, features)
Value transpose(Graph& graph, Value x, std::vector<int> axes);  // PyTorch's permute
// Elements [begin, begin + length) of an axis; a negative axis counts from the last, also below.
Value slice(Graph& graph, Value x, int axis, int64_t begin, int64_t length);
Value gather(Graph& graph, Value x, Value indices, int axis);  // indices i32 (K)
// Repeats x (..), a parameter or an activation, for each sample -> (count, ..) of `dtype`.
Value expand(Graph& graph, Value x, int64_t count, DType dtype);

Value dropout(Graph& graph, Value x, float rate);  // returns x in evaluation and for rate 0
Value matmul(Graph& graph, Value a, Value b);

// Losses are fp64 sums over a batch of N; they become the graph outputs "loss" and "score".
struct CrossEntropyOptions {
  float label_smoothing = 0;
  // Mixup: second labels and the weight (N) f32 of the first ones. Both or none.
  Value other_labels = {}, mix = {};
};
// logits (N, classes), labels (N) i32; or (N, .., classes), (N, ..): means over a sample's labels.
void cross_entropy_loss(Graph& graph, Value logits, Value labels,
                        const CrossEntropyOptions& options);
void cross_entropy_loss(Graph& graph, Value logits, Value labels, float label_smoothing);
// Means over features of the difference from the one-hot label, squared or absolute.
void mse_loss(Graph& graph, Value logits, Value labels);
void l1_loss(Graph& graph, Value logits, Value labels);
// prediction, target: images (N, ..). "score" sums mean squared errors, for PSNR, for either kind.
void reconstruction_loss(Graph& graph, Value prediction, Value target, Regression kind);

}  // namespace spire::inline graph
