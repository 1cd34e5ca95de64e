// Emitters: each states one op of Spire as nodes of ONNX and defines the op's first output. Ops of
// inference only; their other outputs (logsumexp, mean) are for gradients.
#pragma once
#include <span>
#include <string>
#include <string_view>

#include "engine/onnx/onnx_builder.h"

namespace spire::inline onnx {

struct OnnxEmitter {
  std::string_view op;  // Op::name()
  void (*emit)(OnnxBuilder& builder, const Node& node);
};

// All emitters, in one table.
std::span<const OnnxEmitter> onnx_emitters();

// Translates a graph. output: the name of its output "output"; images: that has the channels first.
// Throws Error(config) for an op without an emitter.
OnnxGraph to_onnx(const BatchGraphs& graphs, int64_t opset, const std::string& output, bool images);

// image_emitters.cpp: images, with the channels first.
void emit_conv2d(OnnxBuilder& builder, const Node& node);
void emit_conv_transpose2d(OnnxBuilder& builder, const Node& node);  // with a bias behind it
void emit_batch_norm(OnnxBuilder& builder, const Node& node);
void emit_max_pool2d(OnnxBuilder& builder, const Node& node);
void emit_avg_pool2d(OnnxBuilder& builder, const Node& node);
void emit_global_avg_pool(OnnxBuilder& builder, const Node& node);
void emit_resize(OnnxBuilder& builder, const Node& node);
void emit_pad_channels(OnnxBuilder& builder, const Node& node);

// element_emitters.cpp: element by element, in whatever order the tensors lie.
void emit_activation(OnnxBuilder& builder, const Node& node);
void emit_add(OnnxBuilder& builder, const Node& node);
void emit_mul(OnnxBuilder& builder, const Node& node);
void emit_sub(OnnxBuilder& builder, const Node& node);
void emit_div(OnnxBuilder& builder, const Node& node);
void emit_cast(OnnxBuilder& builder, const Node& node);
void emit_bias(OnnxBuilder& builder, const Node& node);
std::string silu_of(OnnxBuilder& builder, const std::string& x);  // of a tensor of ONNX

// matrix_emitters.cpp: dense layers, and layers over sequences.
void emit_dense(OnnxBuilder& builder, const Node& node);
void emit_matmul(OnnxBuilder& builder, const Node& node);
void emit_embedding(OnnxBuilder& builder, const Node& node);
void emit_layer_norm(OnnxBuilder& builder, const Node& node);
void emit_attention(OnnxBuilder& builder, const Node& node);

// llama_emitters.cpp: layers of Llama.
void emit_rms_norm(OnnxBuilder& builder, const Node& node);
void emit_rope(OnnxBuilder& builder, const Node& node);
void emit_swiglu(OnnxBuilder& builder, const Node& node);

// norm_emitters.cpp
void emit_group_norm(OnnxBuilder& builder, const Node& node);

// recurrent_emitters.cpp: emit_dense() calls it for a product whose only reader is_recurrent().
bool is_recurrent(const Node& node);  // lstm, gru
void emit_recurrent(OnnxBuilder& builder, const Node& product, const Node& steps);

// reduction_emitters.cpp: softmax and sums over an axis.
void emit_softmax(OnnxBuilder& builder, const Node& node);  // and log_softmax
void emit_reduce(OnnxBuilder& builder, const Node& node);   // sum, mean

// shape_emitters.cpp: those that only move elements.
void emit_view(OnnxBuilder& builder, const Node& node);  // reshape, flatten
void emit_transpose(OnnxBuilder& builder, const Node& node);
void emit_concat(OnnxBuilder& builder, const Node& node);
void emit_slice(OnnxBuilder& builder, const Node& node);
void emit_gather(OnnxBuilder& builder, const Node& node);
void emit_expand(OnnxBuilder& builder, const Node& node);

}  // namespace spire::inline onnx
