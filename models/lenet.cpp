// LeNet-5: LeCun, Bottou, Bengio, Haffner, "Gradient-Based Learning Applied to Document
// Recognition", 1998, section II.B, as it is built today: 5x5 convolutions of 6, 16 and 120
// channels, average pooling, tanh, dense layers of 84 and `classes`. Weights are uniform in
// +-2.4 / fan_in, as in the paper. For 32x32 pixels; smaller images get zeros around them, as the
// paper's 28x28 digits have.
#include <algorithm>

#include "engine/graph/layers.h"
#include "models/model.h"

namespace spire::inline models {
namespace {

Initializer paper_uniform(int64_t fan_in) {
  return uniform(2.4f / static_cast<float>(fan_in));
}

Value convolution(Graph& graph, const std::string& name, Value x, int64_t channels,
                  int64_t padding = 0) {
  return tanh(graph, conv2d(graph, name, x,
                            {.channels = channels,
                             .kernel = {5, 5},
                             .padding = {padding, padding},
                             .initialize = paper_uniform(25 * graph.spec(x).shape.back())}));
}

Value dense_layer(Graph& graph, const std::string& name, Value x, int64_t units) {
  return dense(graph, name, x, units, true, paper_uniform(graph.spec(x).shape.back()));
}

}  // namespace

Value lenet(Graph& graph, Value images, const ModelConfig&, int64_t classes) {
  const Shape& shape = graph.spec(images).shape;
  int64_t padding = std::max<int64_t>(0, (33 - std::min(shape[1], shape[2])) / 2);
  Value x = avg_pool2d(graph, convolution(graph, "conv1", images, 6, padding));
  x = avg_pool2d(graph, convolution(graph, "conv2", x, 16));
  x = flatten(graph, convolution(graph, "conv3", x, 120));
  x = tanh(graph, dense_layer(graph, "dense1", x, 84));
  return dense_layer(graph, "dense2", x, classes);
}

}  // namespace spire::inline models
