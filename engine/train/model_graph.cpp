#include <spire/train/model_graph.h>

#include <spire/graph/autodiff.h>
#include <spire/graph/passes.h>

namespace spire {

ParameterLayout make_layout(const GraphBuilder& build, int64_t batch) {
  Graph graph = build(batch, true);
  fuse_activations(graph);
  auto gradients = differentiate(graph);
  return ParameterLayout(graph, gradients);
}

}  // namespace spire
