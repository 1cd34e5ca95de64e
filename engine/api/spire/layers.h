// Layer functions, from which models are built. Each records its ops and parameters in the graph
// and returns the output. `name` is the prefix of parameter names ("conv1" -> "conv1.weight").
// Weights have PyTorch's shapes: convolution (O, I / groups, KH, KW), dense (out, in). A negative
// axis counts from the end: -1 is the last axis.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include <spire/export.h>
#include <spire/graph.h>
#include <spire/op.h>

namespace spire {

// Initial values of parameters. Kaiming: He et al., "Delving Deep into Rectifiers", 2015.
namespace init {

SPIRE_API Initializer uniform(float bound);      // in [-bound, bound)
SPIRE_API Initializer normal(double deviation);  // mean 0
SPIRE_API Initializer constant(float value);
SPIRE_API Initializer kaiming_uniform(int64_t fan_in);  // uniform(sqrt(6 / fan_in))
SPIRE_API Initializer kaiming_normal(int64_t fan_out);  // normal(sqrt(2 / fan_out))
// uniform(1 / sqrt(fan_in)), if no relu follows.
SPIRE_API Initializer linear_uniform(int64_t fan_in);

}  // namespace init

struct Conv2dOptions {
  int64_t channels = 1;  // of the output
  Extent2d kernel{3, 3};
  Extent2d stride{1, 1};
  Extent2d padding{0, 0};
  Extent2d dilation{1, 1};
  int64_t groups = 1;
  bool bias = true;
  Initializer initialize =
      {};  // of the weight; default init::kaiming_uniform(KH * KW * I / groups)
};
SPIRE_API Value conv2d(Graph& graph, const std::string& name, Value x,
                       const Conv2dOptions& options);

// Convolution along a sequence, x (N, T, C) -> (N, T', channels): conv2d() of height 1. weight
// (channels, C / groups, 1, kernel), which is PyTorch's with one more axis.
struct Conv1dOptions {
  int64_t channels = 1;  // of the output
  int64_t kernel = 3;
  int64_t stride = 1;
  int64_t padding = 0;
  int64_t dilation = 1;
  int64_t groups = 1;
  bool bias = true;
  Initializer initialize = {};  // of the weight; default init::kaiming_uniform(kernel * C / groups)
};
SPIRE_API Value conv1d(Graph& graph, const std::string& name, Value x,
                       const Conv1dOptions& options);

// Transposed convolution, x (N, H, W, C) -> (N, OH, OW, channels), weight (C, channels, KH, KW),
// OH = (H - 1) * stride - 2 * padding + kernel + output_padding, and likewise OW.
struct ConvTranspose2dOptions {
  int64_t channels = 1;  // of the output
  Extent2d kernel{3, 3};
  Extent2d stride{1, 1};
  Extent2d padding{0, 0};
  Extent2d output_padding{0, 0};  // less than the stride
  bool bias = true;
  // Of the weight; default init::kaiming_uniform(C * KH * KW / (product of strides)).
  Initializer initialize = {};
};
SPIRE_API Value conv_transpose2d(Graph& graph, const std::string& name, Value x,
                                 const ConvTranspose2dOptions& options);

// x (.., K) -> (.., units). initialize: of the weight; default init::kaiming_uniform(K), for a
// relu.
SPIRE_API Value dense(Graph& graph, const std::string& name, Value x, int64_t units,
                      bool bias = true, Initializer initialize = {});
// Looks up rows of the table name.weight (vocabulary, width): ids i32 (..) -> (.., width).
struct Embedding {
  Value output, table;  // `output` has `dtype`; `table` may also be the weight of tied_dense()
};
SPIRE_API Embedding embedding(Graph& graph, const std::string& name, Value ids, int64_t vocabulary,
                              int64_t width, DType dtype, Initializer initialize);
// Dense layer without bias whose weight is an embedding's table (V, K): x (.., K) -> (.., V).
SPIRE_API Value tied_dense(Graph& graph, Value table, Value x);
// Adds the first T rows of name.weight (positions, C) to x (N, T, C); positions = 0 means T.
SPIRE_API Value position_embedding(Graph& graph, const std::string& name, Value x,
                                   Initializer initialize, int64_t positions = 0);
// Adds row at[n, t] of name.weight (positions, C) to x[n, t]; at (N, T) i32, each below
// `positions`.
SPIRE_API Value position_embedding(Graph& graph, const std::string& name, Value x, Value at,
                                   Initializer initialize, int64_t positions);

struct AttentionOptions {
  int64_t heads = 1;
  bool causal = false;
  float dropout = 0;     // rate at which attention weights are dropped in training
  int64_t kv_heads = 0;  // of keys and values, divides `heads`; 0: as many as heads
  // For packed documents, (N, T) i32: index of each token in its document, 0 at its first token. A
  // token then attends only to its own document; needs `causal`. No value: a row is one document.
  Value positions = {};
};
// qkv (N, T, 3C) -> (N, T, C). Columns of qkv: [Q | K | V], each C wide and split into heads. With
// kv_heads < heads (grouped queries) K and V are kv_heads * C / heads wide, and each of their heads
// serves heads / kv_heads consecutive heads of Q.
SPIRE_API Value attention(Graph& graph, Value qkv, const AttentionOptions& options);

// Rotary position embedding (RoPE): rotates columns i and i + size / 2 of each head by the angle
// t * theta^(-2 i / size), t the position of the row. Applies to the first `heads` heads, of `size`
// columns each, of x (N, T, C); later columns stay. Before attention(): x is qkv, `heads` the
// number of heads of Q and K together.
struct RopeOptions {
  int64_t heads = 1, size = 2;
  double theta = 10000;
  Value positions = {};  // (N, T) i32, t of each row; none: 0 to T - 1
};
SPIRE_API Value rope(Graph& graph, Value x, const RopeOptions& options);

// Recurrent layers, x (N, T, F) -> (N, T, H), or the last state (N, H). Parameters have the shapes
// and the order of gates of PyTorch's nn.LSTM (G = 4 gates) and nn.GRU (G = 3): name.weight_ih
// (G H, F), name.weight_hh (G H, H), name.bias_ih and name.bias_hh (G H), all initialized by
// init::uniform(1 / sqrt(H)).
struct RecurrentOptions {
  int64_t units = 1;  // H
  bool last = false;  // true: returns only the state after the last step
};
SPIRE_API Value lstm(Graph& graph, const std::string& name, Value x,
                     const RecurrentOptions& options);
SPIRE_API Value gru(Graph& graph, const std::string& name, Value x,
                    const RecurrentOptions& options);

struct BatchNormOptions {
  float epsilon = 1e-5f;
  float momentum = 0.1f;  // share of the newest batch in the running statistics
  float gamma = 1.0f;     // initial value of gamma
  bool sync = false;      // true: statistics over all towers, the shares of a global batch
};
// Normalizes by the tower's samples (see `sync`); in evaluation by the running statistics.
SPIRE_API Value batch_norm(Graph& graph, const std::string& name, Value x,
                           const BatchNormOptions& options = {});

// Normalizes over the last axis; the parameters name.gamma and name.beta begin at 1 and 0.
SPIRE_API Value layer_norm(Graph& graph, const std::string& name, Value x, float epsilon = 1e-5f);
// Divides by the root of the mean square over the last axis; the parameter name.gamma begins at 1.
SPIRE_API Value rms_norm(Graph& graph, const std::string& name, Value x, float epsilon = 1e-5f);

// Normalizes each sample of x (N, .., C) over all positions and the channels of a group; groups = C
// is instance normalization. The parameters name.gamma and name.beta (C) begin at 1 and 0.
SPIRE_API Value group_norm(Graph& graph, const std::string& name, Value x, int64_t groups,
                           float epsilon = 1e-5f);

SPIRE_API Value relu(Graph& graph, Value x);
SPIRE_API Value leaky_relu(Graph& graph, Value x, float slope = 0.01f);
SPIRE_API Value gelu(Graph& graph, Value x);
SPIRE_API Value gelu_tanh(Graph& graph, Value x);  // the tanh approximation, as in GPT-2
SPIRE_API Value silu(Graph& graph, Value x);       // x sigmoid(x)
SPIRE_API Value swiglu(Graph& graph, Value x);     // x (.., 2F), [gates | values] -> (.., F)
SPIRE_API Value sigmoid(Graph& graph, Value x);
SPIRE_API Value tanh(Graph& graph, Value x);

struct PoolOptions {
  Extent2d kernel{2, 2};
  Extent2d stride{2, 2};
  Extent2d padding{0, 0};
};
SPIRE_API Value max_pool2d(Graph& graph, Value x, const PoolOptions& options = {});
SPIRE_API Value avg_pool2d(Graph& graph, Value x, const PoolOptions& options = {});
SPIRE_API Value global_avg_pool(Graph& graph, Value x);  // (N, H, W, C) -> (N, C)
// (N, H, W, C) -> (N, size.h, size.w, C), as PyTorch's interpolate with align_corners=False.
SPIRE_API Value resize(Graph& graph, Value x, Extent2d size, Resize kind);
SPIRE_API Value pad_channels(Graph& graph, Value x,
                             int64_t channels);  // appends zeros up to `channels`

SPIRE_API Value add(Graph& graph, Value a, Value b);
SPIRE_API Value mul(Graph& graph, Value a, Value b);
SPIRE_API Value concat(Graph& graph, const std::vector<Value>& parts, int axis);
SPIRE_API Value reshape(Graph& graph, Value x, Shape shape);
SPIRE_API Value flatten(Graph& graph, Value x);  // (N, ..) -> (N, features)
SPIRE_API Value transpose(Graph& graph, Value x, std::vector<int> axes);  // PyTorch's permute
// Elements [begin, begin + length) of an axis.
SPIRE_API Value slice(Graph& graph, Value x, int axis, int64_t begin, int64_t length);
SPIRE_API Value gather(Graph& graph, Value x, Value indices,
                       int axis);  // picks indices (K) i32 of the axis
// Repeats x (..), a parameter or an activation, once per sample -> (count, ..) of `dtype`.
SPIRE_API Value expand(Graph& graph, Value x, int64_t count, DType dtype);

SPIRE_API Value dropout(Graph& graph, Value x,
                        float rate);                     // returns x in evaluation and for rate 0
SPIRE_API Value matmul(Graph& graph, Value a, Value b);  // a (.., M, K), b (.., K, N) -> (.., M, N)

// Losses. Each adds the graph outputs "loss" and "score", fp64 sums over the N samples of a batch.
// "score" is the number of correct labels, unless stated otherwise.
struct CrossEntropyOptions {
  float label_smoothing = 0;
  // For mixed samples: second labels, and the weight (N) f32 of the first ones. Both or neither.
  Value other_labels = {}, mix = {};
  bool unlabelled = false;  // true: ignores labels of -1; means are over a sample's other labels
  // Adds z_loss * log(Z)^2 for each label in training, Z the sum of the exponentials of its logits
  // (Chowdhery et al., "PaLM", 2022).
  float z_loss = 0;
  float weight = 1;  // factor of this loss in the graph's total, >= 0
};
// logits (N, classes), labels i32 (N); or logits (N, .., classes), labels (N, ..): a sample's loss
// and score are then the means over its labels.
SPIRE_API void cross_entropy_loss(Graph& graph, Value logits, Value labels,
                                  const CrossEntropyOptions& options);
SPIRE_API void cross_entropy_loss(Graph& graph, Value logits, Value labels, float label_smoothing);
// Mean over classes of the squared (mse) or absolute (l1) difference of logits and one-hot label.
SPIRE_API void mse_loss(Graph& graph, Value logits, Value labels);
SPIRE_API void l1_loss(Graph& graph, Value logits, Value labels);
// Focal loss with class weights (Lin et al., "Focal Loss for Dense Object Detection", ICCV 2017):
//   loss_n = w_l ((1 - p_l)^gamma * cross entropy + z_loss log(Z)^2)
// l: the sample's label, p_l: its probability, w: class_weights (classes), empty: all 1; z_loss and
// Z: as in CrossEntropyOptions. gamma 0: weighted cross entropy. A mixed sample's loss is the mean
// of its two labels' losses, weighted by mix. Unlike in PyTorch the sum over samples is not divided
// by the sum of their weights, so a sample's loss does not depend on others of its batch.
struct FocalOptions {
  float gamma = 0;  // >= 0
  float label_smoothing = 0;
  std::vector<float> class_weights = {};
  Value other_labels = {}, mix = {};  // as in CrossEntropyOptions
  float z_loss = 0;
  float weight = 1;  // factor of this loss in the graph's total, >= 0
};
// logits (N, classes), labels i32 (N).
SPIRE_API void focal_loss(Graph& graph, Value logits, Value labels, const FocalOptions& options);
// logits (N, K), labels (N, K) f32, 0 or 1: the mean over K of the binary cross entropy of
// sigmoid(logits). "score" is the number of samples of which all labels are right; a logit above 0
// predicts the label 1.
SPIRE_API void binary_loss(Graph& graph, Value logits, Value labels);
// prediction, target: (N, ..), d their difference: the mean of d^2 / 2 where |d| <= delta, else of
// delta (|d| - delta / 2). Huber, 1964. "score" sums mean squared errors.
SPIRE_API void huber_loss(Graph& graph, Value prediction, Value target, float delta);
// prediction, target: (N, ..). For any kind "score" sums mean squared errors, which give PSNR.
SPIRE_API void reconstruction_loss(Graph& graph, Value prediction, Value target, Regression kind);

// Distillation: adds to the graph's loss, as a mean over a sample's rows of logits,
//   weight T^2 KL(softmax(teacher / T) || softmax(logits / T)), T the temperature
// Hinton, Vinyals, Dean, "Distilling the Knowledge in a Neural Network", 2015. Use it with a cross
// entropy of weight 1 - weight. No gradient reaches `teacher`. Does not change "score".
struct DistillationOptions {
  float temperature = 1;  // > 0
  float weight = 1;       // >= 0
};
// logits, teacher: (N, classes) or (N, .., classes), of one dtype. Throws Error(config) if they
// differ, or for an option out of its range.
SPIRE_API void distillation_loss(Graph& graph, Value logits, Value teacher,
                                 const DistillationOptions& options);

// Functions from which a program composes losses and scores of its own (losses.cpp).
// Operands of sub and div must have the same shape and dtype; cast() converts a target to the dtype
// of a prediction, or a 16-bit prediction to fp32.
SPIRE_API Value sub(Graph& graph, Value a, Value b);  // a - b
SPIRE_API Value div(Graph& graph, Value a, Value b);  // a / b
SPIRE_API Value scale(Graph& graph, Value x, float factor,
                      float offset = 0);  // factor * x + offset
SPIRE_API Value exp(Graph& graph, Value x);
SPIRE_API Value log(Graph& graph, Value x);
SPIRE_API Value square(Graph& graph, Value x);
SPIRE_API Value sqrt(Graph& graph, Value x);               // with an infinite gradient at 0
SPIRE_API Value abs(Graph& graph, Value x);                // with a gradient of 0 at 0
SPIRE_API Value cast(Graph& graph, Value x, DType dtype);  // fp32, bf16, fp16
SPIRE_API Value softmax(Graph& graph, Value x);            // over the last axis
SPIRE_API Value log_softmax(Graph& graph, Value x);
// Reduce one axis, which the result lacks. Axis 0 of a batch has the samples of one tower only.
SPIRE_API Value sum(Graph& graph, Value x, int axis);
SPIRE_API Value mean(Graph& graph, Value x, int axis);
// x (N, ..) -> fp64 (1): the sum over the N samples of the mean of each sample's elements.
SPIRE_API Value mean_loss(Graph& graph, Value x);
// add_mean_loss() adds mean_loss(x) as a loss of the graph and as its output "loss"; mark_score()
// adds it as the output "score" alone, a metric without gradient. Both throw Error(config) if the
// graph has that output already.
SPIRE_API void add_mean_loss(Graph& graph, Value x);
SPIRE_API void mark_score(Graph& graph, Value x);

}  // namespace spire
