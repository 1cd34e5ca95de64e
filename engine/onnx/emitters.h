// Emitters: each states one op of Spire as nodes of ONNX and defines the op's first output. Ops of
// inference only; their other outputs (logsumexp, mean) are for gradients.
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

// Translates a graph. output: the name of its output "output"; images: that has the channels first.
// Throws Error(config) for an op without an emitter.
OnnxGraph to_onnx(const BatchGraphs& graphs, int64_t opset, const std::string& output, bool images);

std::string silu_of(OnnxBuilder& builder, const std::string& x);  // of a tensor of ONNX

// LSTM and GRU. The emitter of a dense layer calls it for a product whose only reader
// is_recurrent().
bool is_recurrent(const Node& node);  // lstm, gru
void emit_recurrent(OnnxBuilder& builder, const Node& product, const Node& steps);

}  // namespace spire
