// VGG: Simonyan, Zisserman, "Very Deep Convolutional Networks for Large-Scale Image Recognition",
// 2014, configurations A, B, D and E (11, 13, 16 and 19 layers): 3x3 convolutions in five groups,
// each group ended by max pooling. Images of 64 pixels and more get the paper's two dense layers
// of 4096 with dropout between; smaller ones, as usual for them, the last dense layer alone.
// Normal weights as in He et al. 2015 for convolutions, N(0, 0.01) for dense layers.
#include <algorithm>
#include <array>

#include "engine/graph/layers.h"
#include "models/model.h"

namespace spire::inline models {
namespace {

// Number of convolutions in each group.
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

Value convolution(Graph& graph, const std::string& name, Value x, int64_t channels,
                  const ModelConfig& config) {
  x = conv2d(graph, name, x,
             {.channels = channels, .padding = {1, 1}, .initialize = kaiming_normal(channels * 9)});
  if (config.normalization == ModelConfig::Normalization::batch_norm) {
    x = batch_norm(graph, name + ".norm", x,
                   {.sync = config.batch_norm == ModelConfig::BatchNorm::sync});
  }
  return relu(graph, x);
}

// Halves the image; an extent of one pixel stays.
Value halve(Graph& graph, Value x) {
  const Shape& shape = graph.spec(x).shape;
  return std::min(shape[1], shape[2]) < 2 ? x : max_pool2d(graph, x);
}

}  // namespace

Value vgg(Graph& graph, Value images, const ModelConfig& config, int64_t classes) {
  const Shape& shape = graph.spec(images).shape;
  bool large = std::min(shape[1], shape[2]) >= 64;
  auto groups = groups_of(config.depth);
  Value x = images;
  for (size_t group = 0; group < groups.size(); ++group) {
    Graph::Block block(graph, fmt::format("group{}", group + 1));
    int64_t channels = std::min<int64_t>(512, 64 << group);
    for (int layer = 0; layer < groups[group]; ++layer) {
      x = convolution(graph, fmt::format("conv{}_{}", group + 1, layer + 1), x, channels, config);
    }
    x = halve(graph, x);
  }
  x = flatten(graph, x);
  for (int layer = 1; large && layer <= 2; ++layer) {
    x = relu(graph, dense(graph, fmt::format("dense{}", layer), x, 4096, true, normal(0.01)));
    x = dropout(graph, x, static_cast<float>(config.dropout));
  }
  return dense(graph, "head", x, classes, true, normal(0.01));
}

}  // namespace spire::inline models
