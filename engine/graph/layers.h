// Layer functions, from which models are built. Each records its ops and parameters in the graph
// and returns the output. `name` is the prefix of parameter names ("conv1" -> "conv1.weight").
// Weights have PyTorch's shapes: convolution (O, I / groups, KH, KW), dense (out, in). A negative
// axis counts from the end: -1 is the last axis.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "engine/graph/graph.h"
#include "kernels/ops/regression_loss/regression_loss.h"
#include "kernels/ops/resize/resize.h"
#include "kernels/window.h"

namespace spire::inline graph {

// Initial values of parameters. Kaiming: He et al., "Delving Deep into Rectifiers", 2015.
// uniform(b) is uniform in [-b, b); normal(d) has mean 0 and standard deviation d.
Initializer kaiming_uniform(int64_t fan_in);  // uniform(sqrt(6 / fan_in))
Initializer kaiming_normal(int64_t fan_out);  // normal(sqrt(2 / fan_out))
Initializer linear_uniform(int64_t fan_in);   // uniform(1 / sqrt(fan_in)), if no relu follows
Initializer uniform(float bound);
Initializer normal(double deviation);
Initializer constant(float value);

struct Conv2dOptions {
  int64_t channels = 1;  // of the output
  Extent2d kernel{3, 3};
  Extent2d stride{1, 1};
  Extent2d padding{0, 0};
  Extent2d dilation{1, 1};
  int64_t groups = 1;
  bool bias = true;
  Initializer initialize = {};  // of the weight; default kaiming_uniform(KH * KW * I / groups)
};
Value conv2d(Graph& graph, const std::string& name, Value x, const Conv2dOptions& options);

// Transposed convolution, x (N, H, W, C) -> (N, OH, OW, channels), weight (C, channels, KH, KW),
// OH = (H - 1) * stride - 2 * padding + kernel + output_padding, and likewise OW.
struct ConvTranspose2dOptions {
  int64_t channels = 1;  // of the output
  Extent2d kernel{3, 3};
  Extent2d stride{1, 1};
  Extent2d padding{0, 0};
  Extent2d output_padding{0, 0};  // less than the stride
  bool bias = true;
  // Of the weight; default kaiming_uniform(C * KH * KW / (product of strides)).
  Initializer initialize = {};
};
Value conv_transpose2d(Graph& graph, const std::string& name, Value x,
                       const ConvTranspose2dOptions& options);

// x (.., K) -> (.., units). initialize: of the weight; default kaiming_uniform(K), for a relu.
Value dense(Graph& graph, const std::string& name, Value x, int64_t units, bool bias = true,
            Initializer initialize = {});
// Looks up rows of the table name.weight (vocabulary, width): ids i32 (..) -> (.., width).
struct Embedding {
  Value output, table;  // `output` has `dtype`; `table` may also be the weight of tied_dense()
};
Embedding embedding(Graph& graph, const std::string& name, Value ids, int64_t vocabulary,
                    int64_t width, DType dtype, Initializer initialize);
// Dense layer without bias whose weight is an embedding's table (V, K): x (.., K) -> (.., V).
Value tied_dense(Graph& graph, Value table, Value x);
// Adds the first T rows of name.weight (positions, C) to x (N, T, C); positions = 0 means T.
Value position_embedding(Graph& graph, const std::string& name, Value x, Initializer initialize,
                         int64_t positions = 0);

struct AttentionOptions {
  int64_t heads = 1;
  bool causal = false;
  float dropout = 0;  // rate at which attention weights are dropped in training
};
// qkv (N, T, 3C) -> (N, T, C). Columns of qkv: [Q | K | V], each C wide and split into heads.
Value attention(Graph& graph, Value qkv, const AttentionOptions& options);

struct BatchNormOptions {
  float epsilon = 1e-5f;
  float momentum = 0.1f;  // share of the newest batch in the running statistics
  float gamma = 1.0f;     // initial value of gamma
  bool sync = false;      // true: statistics over all towers, the shares of a global batch
};
// Normalizes by the tower's samples (see `sync`); in evaluation by the running statistics.
Value batch_norm(Graph& graph, const std::string& name, Value x,
                 const BatchNormOptions& options = {});

// Normalizes over the last axis; the parameters name.gamma and name.beta begin at 1 and 0.
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
// (N, H, W, C) -> (N, size.h, size.w, C), as PyTorch's interpolate with align_corners=False.
Value resize(Graph& graph, Value x, Extent2d size, Resize kind);
Value pad_channels(Graph& graph, Value x, int64_t channels);  // appends zeros up to `channels`

Value add(Graph& graph, Value a, Value b);
Value mul(Graph& graph, Value a, Value b);
Value concat(Graph& graph, const std::vector<Value>& parts, int axis);
Value reshape(Graph& graph, Value x, Shape shape);
Value flatten(Graph& graph, Value x);                           // (N, ..) -> (N, features)
Value transpose(Graph& graph, Value x, std::vector<int> axes);  // PyTorch's permute
// Elements [begin, begin + length) of an axis.
Value slice(Graph& graph, Value x, int axis, int64_t begin, int64_t length);
Value gather(Graph& graph, Value x, Value indices, int axis);  // elements `indices` i32 (K)
// Repeats x (..), a parameter or an activation, once per sample -> (count, ..) of `dtype`.
Value expand(Graph& graph, Value x, int64_t count, DType dtype);

Value dropout(Graph& graph, Value x, float rate);  // returns x in evaluation and for rate 0
Value matmul(Graph& graph, Value a, Value b);      // a (.., M, K), b (.., K, N) -> (.., M, N)

// Losses. Each adds the graph outputs "loss" and "score", fp64 sums over the N samples of a batch.
// "score" is the number of correct labels, unless stated otherwise.
struct CrossEntropyOptions {
  float label_smoothing = 0;
  // For mixed samples: second labels, and the weight (N) f32 of the first ones. Both or neither.
  Value other_labels = {}, mix = {};
};
// logits (N, classes), labels i32 (N); or (N, .., classes), (N, ..): means over a sample's labels.
void cross_entropy_loss(Graph& graph, Value logits, Value labels,
                        const CrossEntropyOptions& options);
void cross_entropy_loss(Graph& graph, Value logits, Value labels, float label_smoothing);
// Mean over classes of the squared (mse) or absolute (l1) difference of logits and one-hot label.
void mse_loss(Graph& graph, Value logits, Value labels);
void l1_loss(Graph& graph, Value logits, Value labels);
// prediction, target: (N, ..). For any kind "score" sums mean squared errors, which give PSNR.
void reconstruction_loss(Graph& graph, Value prediction, Value target, Regression kind);

}  // namespace spire::inline graph
