// Multilayer perceptron: dense layers with relu, hidden widths from the config (default 512, 256).
#include "engine/graph/layers.h"
#include "models/model.h"

namespace spire::inline models {

Value mlp(Graph& graph, Value images, const ModelConfig& config, int64_t classes) {
  auto widths = config.hidden.empty() ? std::vector<int64_t>{512, 256} : config.hidden;
  Value x = flatten(graph, images);
  int layer = 1;
  for (int64_t width : widths) {
    x = relu(graph, dense(graph, fmt::format("dense{}", layer++), x, width));
  }
  x = dropout(graph, x, static_cast<float>(config.dropout));
  return dense(graph, fmt::format("dense{}", layer), x, classes, true,
               linear_uniform(graph.spec(x).shape.back()));
}

}  // namespace spire::inline models
