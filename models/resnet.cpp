// Residual networks: He, Zhang, Ren, Sun, "Deep Residual Learning", 2015.
//
// cifar (section 4.2), for small images, 6n+2 layers: a 3x3 convolution, then three stages of n
// blocks with 16, 32 and 64 channels, global average pooling, a dense layer.
// imagenet (table 1), 18, 34, 50, 101 or 152 layers: a 7x7 convolution and max pooling, then four
// stages. From 50 layers on a block is a bottleneck whose stride lies in its 3x3 convolution
// ("v1.5"). The last gamma of each block begins at 0, so that a block begins as its shortcut, and
// the head is normal (Goyal et al., "Accurate, Large Minibatch SGD", 2017, section 5.1).
//
// Where the shape changes the shortcut is a strided 1x1 convolution with batch norm (the paper's
// option B, `projection`), or every second pixel and zeros for the new channels (option A,
// `identity`).
#include <array>

#include <spire/layers.h>

#include "engine/base/fail.h"
#include "models/model.h"

namespace spire {
namespace {

class Blocks {
 public:
  Blocks(Graph& graph, const ModelConfig& config)
      : graph_(graph),
        sync_(config.batch_norm == ModelConfig::BatchNorm::sync),
        identity_(config.shortcut == ModelConfig::Shortcut::identity),
        last_gamma_(config.variant == ModelConfig::Variant::imagenet ? 0.0f : 1.0f) {}

  Value conv_norm(const std::string& name, Value x, int64_t channels, int64_t kernel,
                  int64_t stride, float gamma = 1) {
    int64_t padding = kernel / 2;
    x = conv2d(graph_, name + ".conv", x,
               {.channels = channels,
                .kernel = {kernel, kernel},
                .stride = {stride, stride},
                .padding = {padding, padding},
                .bias = false,
                .initialize = init::kaiming_normal(channels * kernel * kernel)});
    return batch_norm(graph_, name + ".norm", x, {.gamma = gamma, .sync = sync_});
  }

  Value basic(const std::string& name, Value x, int64_t channels, int64_t stride) {
    Graph::Block block(graph_, name);
    Value y = relu(graph_, conv_norm(name + ".a", x, channels, 3, stride));
    y = conv_norm(name + ".b", y, channels, 3, 1, last_gamma_);
    return relu(graph_, add(graph_, y, shortcut(name, x, channels, stride)));
  }

  // `width` channels inside, four times as many behind.
  Value bottleneck(const std::string& name, Value x, int64_t width, int64_t stride) {
    Graph::Block block(graph_, name);
    Value y = relu(graph_, conv_norm(name + ".a", x, width, 1, 1));
    y = relu(graph_, conv_norm(name + ".b", y, width, 3, stride));
    y = conv_norm(name + ".c", y, 4 * width, 1, 1, last_gamma_);
    return relu(graph_, add(graph_, y, shortcut(name, x, 4 * width, stride)));
  }

 private:
  Value shortcut(const std::string& name, Value x, int64_t channels, int64_t stride) {
    if (stride == 1 && graph_.spec(x).shape.back() == channels) return x;
    if (!identity_) return conv_norm(name + ".shortcut", x, channels, 1, stride);
    Value kept = avg_pool2d(graph_, x, {.kernel = {1, 1}, .stride = {stride, stride}});
    return pad_channels(graph_, kept, channels);
  }

  Graph& graph_;
  bool sync_, identity_;
  float last_gamma_;
};

std::string block_name(int64_t stage, int64_t block) {
  return fmt::format("stage{}.block{}", stage + 1, block + 1);
}

Value cifar_resnet(Graph& graph, Value images, const ModelConfig& config, int64_t classes) {
  if (config.depth < 8 || (config.depth - 2) % 6 != 0) {
    fail(Category::config,
         "model.depth: a ResNet for CIFAR has 6n+2 layers (8, 14, 20, 32, ...), got {}",
         config.depth);
  }
  int64_t count = (config.depth - 2) / 6;
  Blocks blocks(graph, config);
  Value x = relu(graph, blocks.conv_norm("stem", images, 16, 3, 1));
  for (int64_t stage = 0; stage < 3; ++stage) {
    for (int64_t block = 0; block < count; ++block) {
      int64_t stride = stage > 0 && block == 0 ? 2 : 1;
      x = blocks.basic(block_name(stage, block), x, 16 << stage, stride);
    }
  }
  return dense(graph, "head", global_avg_pool(graph, x), classes);
}

std::array<int64_t, 4> imagenet_stages(int64_t depth) {
  switch (depth) {
    case 18:
      return {2, 2, 2, 2};
    case 34:
    case 50:
      return {3, 4, 6, 3};
    case 101:
      return {3, 4, 23, 3};
    case 152:
      return {3, 8, 36, 3};
    default:
      fail(Category::config,
           "model.depth: a ResNet for ImageNet has 18, 34, 50, 101 or 152 layers, got {}", depth);
  }
}

Value imagenet_resnet(Graph& graph, Value images, const ModelConfig& config, int64_t classes) {
  auto stages = imagenet_stages(config.depth);
  Blocks blocks(graph, config);
  Value x = relu(graph, blocks.conv_norm("stem", images, 64, 7, 2));
  x = max_pool2d(graph, x, {.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}});
  for (int64_t stage = 0; stage < 4; ++stage) {
    for (int64_t block = 0; block < stages[static_cast<size_t>(stage)]; ++block) {
      int64_t stride = stage > 0 && block == 0 ? 2 : 1;
      std::string name = block_name(stage, block);
      x = config.depth < 50 ? blocks.basic(name, x, 64 << stage, stride)
                            : blocks.bottleneck(name, x, 64 << stage, stride);
    }
  }
  return dense(graph, "head", global_avg_pool(graph, x), classes, true, init::normal(0.01));
}

}  // namespace

Value resnet(Graph& graph, Value images, const ModelConfig& config, int64_t classes) {
  if (config.variant == ModelConfig::Variant::imagenet)
    return imagenet_resnet(graph, images, config, classes);
  return cifar_resnet(graph, images, config, classes);
}

}  // namespace spire
