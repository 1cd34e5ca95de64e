// Convolutional autoencoder, image to image: a 3x3 convolution of stride 2 for each width in
// `channels` (default 32, 64, 16), then back up by the same steps. The code is the last of these
// tensors, or, with `hidden`, the output of dense layers of these widths.
#include "models/image_blocks.h"
#include "models/model.h"

namespace spire::inline models {
namespace {

// Adds dense layers to the code and back to the shape of x.
Value through_code(Graph& graph, Value x, const std::vector<int64_t>& widths) {
  Shape shape = graph.spec(x).shape;
  x = flatten(graph, x);
  std::vector<int64_t> back;  // widths on the way back, in that order
  for (size_t i = 0; i < widths.size(); ++i) {
    back.insert(back.begin(), graph.spec(x).shape.back());
    x = dense(graph, fmt::format("encode{}", i + 1), x, widths[i]);
    if (i + 1 < widths.size()) x = relu(graph, x);  // the code itself is linear
  }
  for (size_t i = 0; i < back.size(); ++i)
    x = relu(graph, dense(graph, fmt::format("decode{}", i + 1), x, back[i]));
  return reshape(graph, x, shape);
}

}  // namespace

Value autoencoder(Graph& graph, Value images, const ModelConfig& config, int64_t) {
  auto channels = config.channels.empty() ? std::vector<int64_t>{32, 64, 16} : config.channels;
  std::vector<Extent2d> sizes;  // before each step down
  Value x = images;
  for (size_t level = 0; level < channels.size(); ++level) {
    sizes.push_back(extent_of(graph.spec(x).shape));
    x = conv_block(graph, fmt::format("down{}", level + 1), x, channels[level], 2, config);
  }
  if (!config.hidden.empty()) x = through_code(graph, x, config.hidden);
  for (size_t level = channels.size(); level-- > 0;) {
    std::string name = fmt::format("up{}", level + 1);
    int64_t width = channels[level > 0 ? level - 1 : 0];
    x = upsample(graph, name, x, width, sizes[level], 3, config);
    x = normalized_relu(graph, name, x, config);
  }
  return image_head(graph, "pixels", x, graph.spec(images).shape.back(), 3, config);
}

}  // namespace spire::inline models
