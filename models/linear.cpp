// One dense layer: logistic regression with cross_entropy, least squares with mse. The baseline
// that any deeper model has to beat.
#include "engine/graph/layers.h"
#include "models/model.h"

namespace spire::inline models {

Value linear(Graph& graph, Value images, const ModelConfig&, int64_t classes) {
  Value x = flatten(graph, images);
  return dense(graph, "dense", x, classes, true, linear_uniform(graph.spec(x).shape.back()));
}

}  // namespace spire::inline models
