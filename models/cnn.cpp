// Small convolutional network: for each width in `channels` a 3x3 convolution, relu and 2x2 max
// pooling, then dense layers (default: 32, 64 channels; one dense layer of 128).
#include <spire/graph/layers.h>
#include <spire/models/model.h>

namespace spire {

Value cnn(Graph& graph, Value images, const ModelConfig& config, int64_t classes) {
  auto channels = config.channels.empty() ? std::vector<int64_t>{32, 64} : config.channels;
  auto widths = config.hidden.empty() ? std::vector<int64_t>{128} : config.hidden;
  Value x = images;
  int layer = 1;
  for (int64_t width : channels) {
    x = conv2d(graph, fmt::format("conv{}", layer++), x, {.channels = width, .padding = {1, 1}});
    x = max_pool2d(graph, relu(graph, x));
  }
  x = flatten(graph, x);
  layer = 1;
  for (int64_t width : widths) {
    x = relu(graph, dense(graph, fmt::format("dense{}", layer++), x, width));
    x = dropout(graph, x, static_cast<float>(config.dropout));
  }
  return dense(graph, fmt::format("dense{}", layer), x, classes, true,
               linear_uniform(graph.spec(x).shape.back()));
}

}  // namespace spire
