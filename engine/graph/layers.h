// The layer functions model code is written with. Each records its ops and parameters in the graph
// and returns the output. Names become parameter names ("conv1" -> "conv1.weight", "conv1.bias");
// plain layouts are those of PyTorch: convolution (O, I/groups, KH, KW), dense (out, in).
#pragma once
#include <string>

#include <spire/graph/graph.h>
#include <spire/kernels/window.h>

namespace spire {

// He et al., "Delving Deep into Rectifiers", 2015: uniform in +-sqrt(6 / fan_in).
Initializer kaiming_uniform(int64_t fan_in);
// The same paper's normal form: N(0, sqrt(2 / fan_out)).
Initializer kaiming_normal(int64_t fan_out);
// Uniform in +-1 / sqrt(fan_in): for a layer with no relu behind it, such as the one that makes
// logits.
Initializer linear_uniform(int64_t fan_in);
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

// x (.., K) -> (.., units)
// initialize: of the weight; default kaiming_uniform(K), for a relu behind it.
Value dense(Graph& graph, const std::string& name, Value x, int64_t units, bool bias = true,
            Initializer initialize = {});

struct BatchNormOptions {
  float epsilon = 1e-5f;
  float momentum = 0.1f;  // share of the newest batch in the running statistics
};
// Statistics of the tower's own batch in training, running ones in evaluation.
Value batch_norm(Graph& graph, const std::string& name, Value x,
                 const BatchNormOptions& options = {});

Value relu(Graph& graph, Value x);
Value leaky_relu(Graph& graph, Value x, float slope = 0.01f);
Value gelu(Graph& graph, Value x);
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

Value add(Graph& graph, Value a, Value b);
Value mul(Graph& graph, Value a, Value b);
Value concat(Graph& graph, const std::vector<Value>& parts, int axis);
Value reshape(Graph& graph, Value x, Shape shape);
Value flatten(Graph& graph, Value x);              // (N, ..) -> (N, features)
Value dropout(Graph& graph, Value x, float rate);  // x itself in evaluation and for rate 0
Value matmul(Graph& graph, Value a, Value b);

// Losses over a batch of N: fp64 sums, the outputs "loss" and "correct" of the graph.
// logits (N, classes), labels (N) int32.
void cross_entropy_loss(Graph& graph, Value logits, Value labels, float label_smoothing);
// Mean over features of the squared or absolute difference from the one-hot label.
void mse_loss(Graph& graph, Value logits, Value labels);
void l1_loss(Graph& graph, Value logits, Value labels);

}  // namespace spire
