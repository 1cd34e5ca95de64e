// Emitters: each translates one op of Spire into nodes of ONNX and defines the op's first output.
// Only ops of inference have an emitter. An op's other outputs (logsumexp, mean) are for gradients.
#pragma once
#include <span>
#include <string>
#include <string_view>

#include "engine/onnx/onnx_builder.h"

namespace spire {

struct OnnxEmitter {
  std::string_view op;  // Op::name()
  void (*emit)(OnnxBuilder& builder, const Node& node);
};

std::span<const OnnxEmitter> element_emitters();
std::span<const OnnxEmitter> image_emitters();
std::span<const OnnxEmitter> matrix_emitters();

// Translates a graph. output: name that its output "output" gets. images: true: the output has the
// channels first. Throws Error(config) for an op without an emitter.
OnnxGraph to_onnx(const BatchGraphs& graphs, int64_t opset, const std::string& output, bool images);

std::string silu_of(OnnxBuilder& builder, const std::string& x);  // x, result: tensors of ONNX

// Emits an LSTM or GRU with the product before it, x W^T + b. The emitter of dense layers calls it
// for a product whose only reader is_recurrent().
bool is_recurrent(const Node& node);  // lstm, gru
void emit_recurrent(OnnxBuilder& builder, const Node& product, const Node& steps);

}  // namespace spire
