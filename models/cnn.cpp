// Networks without shortcuts: linear and mlp, which are fully connected, and for images lenet, cnn
// and vgg.
#include <algorithm>
#include <array>

#include <spire/layers.h>

#include "engine/base/fail.h"
#include "models/model.h"

namespace spire {
namespace {

// Uniform in +-2.4 / fan_in, as in the paper of LeNet-5.
Initializer paper_uniform(int64_t fan_in) {
  return init::uniform(2.4f / static_cast<float>(fan_in));
}

Value tanh_convolution(Graph& graph, const std::string& name, Value x, int64_t channels,
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

// LeNet-5: LeCun, Bottou, Bengio, Haffner, "Gradient-Based Learning Applied to Document
// Recognition", 1998, section II.B, as it is built today: 5x5 convolutions of 6, 16 and 120
// channels, average pooling, tanh, dense layers of 84 and `classes`. Made for 32x32 pixels; smaller
// images are padded with zeros, as the paper's 28x28 digits are.
Value lenet(Graph& graph, Value images, const ModelConfig&, int64_t classes) {
  const Shape& shape = graph.spec(images).shape;
  // Pads both sides up to 32 pixels, or 33 where the extent is odd.
  int64_t padding = std::max<int64_t>(0, (33 - std::min(shape[1], shape[2])) / 2);
  Value x = avg_pool2d(graph, tanh_convolution(graph, "conv1", images, 6, padding));
  x = avg_pool2d(graph, tanh_convolution(graph, "conv2", x, 16));
  x = flatten(graph, tanh_convolution(graph, "conv3", x, 120));
  x = tanh(graph, dense_layer(graph, "dense1", x, 84));
  return dense_layer(graph, "dense2", x, classes);
}

// For each width in `channels` (default 32, 64) a 3x3 convolution, batch norm if asked for, relu
// and 2x2 max pooling; then dense layers of the widths in `hidden` (default 128). Batch norm's beta
// replaces the convolution's bias.
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
               init::linear_uniform(graph.spec(x).shape.back()));
}

namespace {

// Returns the number of convolutions in each of the five groups.
std::array<int, 5> groups_of(int64_t depth) {
  switch (depth) {
    case 11:
      return {1, 1, 2, 2, 2};
    case 13:
      return {2, 2, 2, 2, 2};
    case 16:
      return {2, 2, 3, 3, 3};
    case 19:
      return {2, 2, 4, 4, 4};
    default:
      fail(Category::config, "model.depth: a VGG has 11, 13, 16 or 19 layers, got {}", depth);
  }
}

Value convolution_relu(Graph& graph, const std::string& name, Value x, int64_t channels,
                       const ModelConfig& config) {
  x = conv2d(
      graph, name, x,
      {.channels = channels, .padding = {1, 1}, .initialize = init::kaiming_normal(channels * 9)});
  if (config.normalization == ModelConfig::Normalization::batch_norm) {
    x = batch_norm(graph, name + ".norm", x,
                   {.sync = config.batch_norm == ModelConfig::BatchNorm::sync});
  }
  return relu(graph, x);
}

// Halves the image. An image that is one pixel high or wide stays: small images survive five
// groups.
Value halve(Graph& graph, Value x) {
  const Shape& shape = graph.spec(x).shape;
  return std::min(shape[1], shape[2]) < 2 ? x : max_pool2d(graph, x);
}

}  // namespace

// VGG: Simonyan, Zisserman, "Very Deep Convolutional Networks for Large-Scale Image Recognition",
// 2014, configurations A, B, D and E: 3x3 convolutions in five groups, each group ended by max
// pooling. Images of 64 pixels and more get the paper's two dense layers of 4096 with dropout;
// smaller ones only the last dense layer, as is usual. Convolutions begin as in He et al. 2015,
// dense layers as N(0, 0.01).
Value vgg(Graph& graph, Value images, const ModelConfig& config, int64_t classes) {
  const Shape& shape = graph.spec(images).shape;
  bool large = std::min(shape[1], shape[2]) >= 64;
  auto groups = groups_of(config.depth);
  Value x = images;
  for (size_t group = 0; group < groups.size(); ++group) {
    Graph::Block block(graph, fmt::format("group{}", group + 1));
    int64_t channels = std::min<int64_t>(512, 64 << group);
    for (int layer = 0; layer < groups[group]; ++layer) {
      x = convolution_relu(graph, fmt::format("conv{}_{}", group + 1, layer + 1), x, channels,
                           config);
    }
    x = halve(graph, x);
  }
  x = flatten(graph, x);
  for (int layer = 1; large && layer <= 2; ++layer) {
    x = relu(graph, dense(graph, fmt::format("dense{}", layer), x, 4096, true, init::normal(0.01)));
    x = dropout(graph, x, static_cast<float>(config.dropout));
  }
  return dense(graph, "head", x, classes, true, init::normal(0.01));
}

// Logistic regression with cross_entropy, least squares with mse: the baseline that any deeper
// model has to beat.
Value linear(Graph& graph, Value images, const ModelConfig&, int64_t classes) {
  Value x = flatten(graph, images);
  return dense(graph, "dense", x, classes, true, init::linear_uniform(graph.spec(x).shape.back()));
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
               init::linear_uniform(graph.spec(x).shape.back()));
}

}  // namespace spire
