#include <algorithm>

#include <spire/error.h>

#include "engine/onnx/emitters.h"

namespace spire {
namespace {

const OnnxEmitter& emitter_of(const Op& op) {
  for (auto emitters : {element_emitters(), image_emitters(), matrix_emitters(), norm_emitters()})
    if (auto found = std::ranges::find(emitters, op.name(), &OnnxEmitter::op);
        found != emitters.end())
      return *found;
  fail(Category::config, "[{}] has no form in ONNX here; it needs an emitter in engine/onnx",
       op.name());
}

}  // namespace

OnnxGraph to_onnx(const BatchGraphs& graphs, int64_t opset, const std::string& output,
                  bool images) {
  OnnxBuilder builder(graphs, opset);
  for (const Node& node : graphs.one.nodes()) {
    if (builder.is_defined(node.outputs[0])) continue;  // with the node before it
    const OnnxEmitter& emitter = emitter_of(*node.op);
    builder.begin(node);
    emitter.emit(builder, node);
  }
  return builder.finish(output, images);
}

}  // namespace spire
