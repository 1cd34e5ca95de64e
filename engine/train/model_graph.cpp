#include "engine/train/model_graph.h"

#include "engine/graph/autodiff.h"
#include "engine/graph/passes.h"

namespace spire::inline training {

DType compute_dtype(const RunConfig& config) {
  if (config.precision == RunConfig::Precision::fp32) return DType::f32;
  return config.precision == RunConfig::Precision::bf16 ? DType::bf16 : DType::f16;
}

ParameterLayout make_layout(const GraphBuilder& build, int64_t batch) {
  Graph graph = build(batch, true);
  fuse_activations(graph);
  auto gradients = differentiate(graph);
  return ParameterLayout(graph, gradients);
}

}  // namespace spire::inline training
