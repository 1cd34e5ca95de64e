// Small convolutional network: for each width in `channels` a 3x3 convolution, batch norm if asked
// for, relu and 2x2 max pooling, then dense layers (default: 32, 64 channels; one dense layer of
// 128). Batch norm's beta stands in for the convolution's bias.
#include "engine/graph/layers.h"
#include "models/model.h"

namespace spire::inline models {

Value cnn(Graph& graph, Value images, const ModelConfig& config, int64_t classes) {
  auto channels = config.channels.empty() ? std::vector<int64_t>{32, 64} : config.channels;
  auto widths = config.hidden.empty() ? std::vector<int64_t>{128} : config.hidden;
  bool normalize = config.normalization == ModelConfig::Normalization::batch_norm;
  bool sync = config.batch_norm == ModelConfig::BatchNorm::sync;
  Value x = images;
  int layer = 1;
  for (int64_t width : channels) {
    std::string name = fmt::format("conv{}", layer++);
    Graph::Block block(graph, name);
    x = conv2d(graph, name, x, {.channels = width, .padding = {1, 1}, .bias = !normalize});
    if (normalize) x = batch_norm(graph, name + ".norm", x, {.sync = sync});
    x = max_pool2d(graph, relu(graph, x));
  }
  x = flatten(graph, x);
  layer = 1;
  for (int64_t width : widths) {
    std::string name = fmt::format("dense{}", layer++);
    Graph::Block block(graph, name);
    x = relu(graph, dense(graph, name, x, width));
    x = dropout(graph, x, static_cast<float>(config.dropout));
  }
  return dense(graph, fmt::format("dense{}", layer), x, classes, true,
               linear_uniform(graph.spec(x).shape.back()));
}

}  // namespace spire::inline models
