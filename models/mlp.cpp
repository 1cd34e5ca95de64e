// Fully connected models: linear (no hidden layer) and mlp.
#include <spire/error.h>
#include <spire/layers.h>

#include "models/model.h"

namespace spire::inline models {

// Logistic regression with cross_entropy, least squares with mse: the baseline that any deeper
// model has to beat.
Value linear(Graph& graph, Value images, const ModelConfig&, int64_t classes) {
  Value x = flatten(graph, images);
  return dense(graph, "dense", x, classes, true, linear_uniform(graph.spec(x).shape.back()));
}

// Dense layers with relu; widths from `hidden` (default 512, 256); dropout before the last layer.
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
