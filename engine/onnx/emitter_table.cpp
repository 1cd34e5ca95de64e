#include <algorithm>

#include <spire/error.h>

#include "engine/onnx/emitters.h"

namespace spire::inline onnx {

std::span<const OnnxEmitter> onnx_emitters() {
  static constexpr OnnxEmitter table[] = {
      {"relu", emit_activation},
      {"leaky_relu", emit_activation},
      {"gelu", emit_activation},
      {"gelu_tanh", emit_activation},
      {"silu", emit_activation},
      {"sigmoid", emit_activation},
      {"tanh", emit_activation},
      {"affine", emit_activation},
      {"exp", emit_activation},
      {"log", emit_activation},
      {"square", emit_activation},
      {"sqrt", emit_activation},
      {"abs", emit_activation},
      {"add", emit_add},
      {"mul", emit_mul},
      {"sub", emit_sub},
      {"div", emit_div},
      {"cast", emit_cast},
      {"bias", emit_bias},
      {"conv2d", emit_conv2d},
      {"conv_transpose2d", emit_conv_transpose2d},
      {"batch_norm_eval", emit_batch_norm},
      {"max_pool2d", emit_max_pool2d},
      {"avg_pool2d", emit_avg_pool2d},
      {"global_avg_pool", emit_global_avg_pool},
      {"resize", emit_resize},
      {"pad_channels", emit_pad_channels},
      {"dense", emit_dense},
      {"matmul", emit_matmul},
      {"embedding", emit_embedding},
      {"layer_norm", emit_layer_norm},
      {"rms_norm", emit_rms_norm},
      {"group_norm", emit_group_norm},
      {"attention", emit_attention},
      {"rope", emit_rope},
      {"swiglu", emit_swiglu},
      {"softmax", emit_softmax},
      {"log_softmax", emit_softmax},
      {"sum", emit_reduce},
      {"mean", emit_reduce},
      {"reshape", emit_view},
      {"flatten", emit_view},
      {"transpose", emit_transpose},
      {"concat", emit_concat},
      {"slice", emit_slice},
      {"gather", emit_gather},
      {"expand", emit_expand},
  };
  return table;
}

OnnxGraph to_onnx(const BatchGraphs& graphs, int64_t opset, const std::string& output,
                  bool images) {
  OnnxBuilder builder(graphs, opset);
  auto emitters = onnx_emitters();
  for (const Node& node : graphs.one.nodes()) {
    if (builder.is_defined(node.outputs[0])) continue;  // with the node before it
    auto found = std::ranges::find(emitters, node.op->name(), &OnnxEmitter::op);
    if (found == emitters.end())
      fail(Category::config, "[{}] has no form in ONNX here; it needs an emitter in engine/onnx",
           node.op->name());
    builder.begin(node);
    found->emit(builder, node);
  }
  return builder.finish(output, images);
}

}  // namespace spire::inline onnx
