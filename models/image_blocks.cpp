#include "models/image_blocks.h"

namespace spire::inline models {

Value normalized_relu(Graph& graph, const std::string& name, Value x, const ModelConfig& config) {
  if (config.normalization == ModelConfig::Normalization::batch_norm)
    x = batch_norm(graph, name + ".norm", x,
                   {.sync = config.batch_norm == ModelConfig::BatchNorm::sync});
  return relu(graph, x);
}

Value conv_block(Graph& graph, const std::string& name, Value x, int64_t channels, int64_t stride,
                 const ModelConfig& config) {
  x = conv2d(graph, name, x,
             {.channels = channels,
              .stride = {stride, stride},
              .padding = {1, 1},
              .bias = config.normalization == ModelConfig::Normalization::none,
              .initialize = kaiming_normal(9 * graph.spec(x).shape.back())});
  return normalized_relu(graph, name, x, config);
}

Value upsample(Graph& graph, const std::string& name, Value x, int64_t channels, Extent2d size,
               int64_t kernel, const ModelConfig& config) {
  const Shape& from = graph.spec(x).shape;
  if (config.upsample == ModelConfig::Upsample::resize) {
    x = resize(graph, x, size, Resize::nearest);
    return conv2d(graph, name, x, {.channels = channels, .padding = {1, 1}});
  }
  int64_t padding = (kernel - 1) / 2;
  auto rest = [&](int64_t to, int64_t extent) {
    return to - (2 * (extent - 1) - 2 * padding + kernel);
  };
  return conv_transpose2d(graph, name, x,
                          {.channels = channels,
                           .kernel = {kernel, kernel},
                           .stride = {2, 2},
                           .padding = {padding, padding},
                           .output_padding = {rest(size.h, from[1]), rest(size.w, from[2])}});
}

Value image_head(Graph& graph, const std::string& name, Value x, int64_t channels, int64_t kernel,
                 const ModelConfig& config) {
  int64_t padding = kernel / 2;
  x = conv2d(graph, name, x,
             {.channels = channels,
              .kernel = {kernel, kernel},
              .padding = {padding, padding},
              .initialize = linear_uniform(kernel * kernel * graph.spec(x).shape.back())});
  return config.output_activation == ModelConfig::OutputActivation::sigmoid ? sigmoid(graph, x) : x;
}

}  // namespace spire::inline models
