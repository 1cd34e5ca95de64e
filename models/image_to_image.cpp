// Convolutional models that make an image of each image: unet and autoencoder.
#include <spire/layers.h>

#include "engine/base/fail.h"
#include "models/model.h"

namespace spire {
namespace {

// Batch norm if model.normalization asks for it, then relu.
Value normalized_relu(Graph& graph, const std::string& name, Value x, const ModelConfig& config) {
  if (config.normalization == ModelConfig::Normalization::batch_norm)
    x = batch_norm(graph, name + ".norm", x,
                   {.sync = config.batch_norm == ModelConfig::BatchNorm::sync});
  return relu(graph, x);
}

// 3x3 convolution, then normalized_relu(). Weights are normal over the fan-in (He et al. 2015).
// (N, H, W, C) -> (N, ceil(H / stride), ceil(W / stride), channels)
Value conv_block(Graph& graph, const std::string& name, Value x, int64_t channels, int64_t stride,
                 const ModelConfig& config) {
  x = conv2d(graph, name, x,
             {.channels = channels,
              .stride = {stride, stride},
              .padding = {1, 1},
              .bias = config.normalization == ModelConfig::Normalization::none,
              .initialize = init::kaiming_normal(9 * graph.spec(x).shape.back())});
  return normalized_relu(graph, name, x, config);
}

// Enlarges x by model.upsample to `size`, about twice: by a transposed convolution of this kernel
// and stride 2, or by nearest neighbours and a 3x3 convolution, which leaves no checkerboard
// pattern (Odena et al., "Deconvolution and Checkerboard Artifacts", 2016). No activation follows.
// Kernel 2 turns an extent h into 2h or 2h + 1, kernel 3 into 2h - 1 or 2h.
Value upsample(Graph& graph, const std::string& name, Value x, int64_t channels, Extent2d size,
               int64_t kernel, const ModelConfig& config) {
  const Shape& from = graph.spec(x).shape;
  if (config.upsample == ModelConfig::Upsample::resize) {
    x = resize(graph, x, size, Resize::nearest);
    return conv2d(graph, name, x, {.channels = channels, .padding = {1, 1}});
  }
  int64_t padding = (kernel - 1) / 2;
  // A transposed convolution of stride 2 gives 2 (extent - 1) - 2 padding + kernel pixels; the rest
  // up to `size` is its output padding.
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

// Maps x to pixels by a convolution and model.output_activation.
// (N, H, W, C) -> (N, H, W, channels)
Value image_head(Graph& graph, const std::string& name, Value x, int64_t channels, int64_t kernel,
                 const ModelConfig& config) {
  int64_t padding = kernel / 2;
  x = conv2d(graph, name, x,
             {.channels = channels,
              .kernel = {kernel, kernel},
              .padding = {padding, padding},
              .initialize = init::linear_uniform(kernel * kernel * graph.spec(x).shape.back())});
  return config.output_activation == ModelConfig::OutputActivation::sigmoid ? sigmoid(graph, x) : x;
}

Value two_convolutions(Graph& graph, const std::string& name, Value x, int64_t channels,
                       const ModelConfig& config) {
  Graph::Block block(graph, name);
  x = conv_block(graph, name + ".a", x, channels, 1, config);
  return conv_block(graph, name + ".b", x, channels, 1, config);
}

}  // namespace

// U-Net: Ronneberger, Fischer, Brox, "U-Net: Convolutional Networks for Biomedical Image
// Segmentation", 2015, with padded convolutions, so that the result has the image's size. For each
// width in `channels` (default 16, 32, 64, 128) two 3x3 convolutions, with 2x2 max pooling between
// widths; then back up, each time concatenated with the tensor of the same size from the way down.
Value unet(Graph& graph, Value images, const ModelConfig& config, int64_t channels) {
  auto widths = config.channels.empty() ? std::vector<int64_t>{16, 32, 64, 128} : config.channels;
  std::vector<Value> skips;
  Value x = images;
  for (size_t level = 0; level < widths.size(); ++level) {
    if (level > 0) x = max_pool2d(graph, x);
    x = two_convolutions(graph, fmt::format("down{}", level + 1), x, widths[level], config);
    skips.push_back(x);
  }
  for (size_t level = widths.size() - 1; level-- > 0;) {
    std::string name = fmt::format("up{}", level + 1);
    Extent2d size = extent_of(graph.spec(skips[level]).shape);
    x = upsample(graph, name, x, widths[level], size, 2, config);
    x = concat(graph, {skips[level], x}, -1);
    x = two_convolutions(graph, name, x, widths[level], config);
  }
  return image_head(graph, "pixels", x, channels, 1, config);
}

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

// Convolutional autoencoder: a 3x3 convolution of stride 2 for each width in `channels` (default
// 32, 64, 16), then back up by the same steps. The code is the last tensor on the way down, or,
// with `hidden`, the output of dense layers of these widths.
Value autoencoder(Graph& graph, Value images, const ModelConfig& config, int64_t channels) {
  auto widths = config.channels.empty() ? std::vector<int64_t>{32, 64, 16} : config.channels;
  std::vector<Extent2d> sizes;  // before each step down
  Value x = images;
  for (size_t level = 0; level < widths.size(); ++level) {
    sizes.push_back(extent_of(graph.spec(x).shape));
    x = conv_block(graph, fmt::format("down{}", level + 1), x, widths[level], 2, config);
  }
  if (!config.hidden.empty()) x = through_code(graph, x, config.hidden);
  for (size_t level = widths.size(); level-- > 0;) {
    std::string name = fmt::format("up{}", level + 1);
    int64_t width = widths[level > 0 ? level - 1 : 0];
    x = upsample(graph, name, x, width, sizes[level], 3, config);
    x = normalized_relu(graph, name, x, config);
  }
  return image_head(graph, "pixels", x, channels, 3, config);
}

}  // namespace spire
