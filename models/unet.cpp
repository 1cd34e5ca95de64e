// U-Net, image to image: Ronneberger, Fischer, Brox, "U-Net: Convolutional Networks for Biomedical
// Image Segmentation", 2015, with padded convolutions, so that the result has the image's size, and
// as many channels. For each width in `channels` (default 16, 32, 64, 128) two 3x3 convolutions,
// 2x2 max pooling between widths; then up again, each time joined with what was there on the way
// down. An image halves channels - 1 times.
#include "models/image_blocks.h"
#include "models/model.h"

namespace spire::inline models {
namespace {

Value two_convolutions(Graph& graph, const std::string& name, Value x, int64_t channels,
                       const ModelConfig& config) {
  Graph::Block block(graph, name);
  x = conv_block(graph, name + ".a", x, channels, 1, config);
  return conv_block(graph, name + ".b", x, channels, 1, config);
}

}  // namespace

Value unet(Graph& graph, Value images, const ModelConfig& config, int64_t) {
  auto channels = config.channels.empty() ? std::vector<int64_t>{16, 32, 64, 128} : config.channels;
  std::vector<Value> skips;
  Value x = images;
  for (size_t level = 0; level < channels.size(); ++level) {
    if (level > 0) x = max_pool2d(graph, x);
    x = two_convolutions(graph, fmt::format("down{}", level + 1), x, channels[level], config);
    skips.push_back(x);
  }
  for (size_t level = channels.size() - 1; level-- > 0;) {
    std::string name = fmt::format("up{}", level + 1);
    Extent2d size = extent_of(graph.spec(skips[level]).shape);
    x = upsample(graph, name, x, channels[level], size, 2, config);
    x = concat(graph, {skips[level], x}, -1);
    x = two_convolutions(graph, name, x, channels[level], config);
  }
  return image_head(graph, "pixels", x, graph.spec(images).shape.back(), 1, config);
}

}  // namespace spire::inline models
