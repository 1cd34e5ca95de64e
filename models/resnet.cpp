// Residual network for small images: He, Zhang, Ren, Sun, "Deep Residual Learning", 2015,
// section 4.2. 6n+2 layers: a 3x3 convolution, then three stages of n blocks with 16, 32 and 64
// channels, global average pooling, a dense layer. Where the shape changes the shortcut is a
// strided 1x1 convolution with batch norm (the paper's option B).
#include <spire/graph/layers.h>
#include <spire/models/model.h>

namespace spire {
namespace {

Value conv_norm(Graph& graph, const std::string& name, Value x, int64_t channels, int64_t kernel,
                int64_t stride) {
  int64_t padding = kernel / 2;
  x = conv2d(graph, name + ".conv", x,
             {.channels = channels,
              .kernel = {kernel, kernel},
              .stride = {stride, stride},
              .padding = {padding, padding},
              .bias = false,
              .initialize = kaiming_normal(channels * kernel * kernel)});
  return batch_norm(graph, name + ".norm", x);
}

Value basic_block(Graph& graph, const std::string& name, Value x, int64_t channels,
                  int64_t stride) {
  Value y = relu(graph, conv_norm(graph, name + ".a", x, channels, 3, stride));
  y = conv_norm(graph, name + ".b", y, channels, 3, 1);
  bool same = stride == 1 && graph.spec(x).shape.back() == channels;
  Value shortcut = same ? x : conv_norm(graph, name + ".shortcut", x, channels, 1, stride);
  return relu(graph, add(graph, y, shortcut));
}

}  // namespace

Value resnet(Graph& graph, Value images, const ModelConfig& config, int64_t classes) {
  if (config.depth < 8 || (config.depth - 2) % 6 != 0) {
    fail(Category::config, "model.depth: a resnet has 6n+2 layers (8, 14, 20, 32, ...), got {}",
         config.depth);
  }
  int64_t blocks = (config.depth - 2) / 6;
  Value x = relu(graph, conv_norm(graph, "stem", images, 16, 3, 1));
  for (int64_t stage = 0; stage < 3; ++stage) {
    for (int64_t block = 0; block < blocks; ++block) {
      int64_t stride = stage > 0 && block == 0 ? 2 : 1;
      x = basic_block(graph, fmt::format("stage{}.block{}", stage + 1, block + 1), x, 16 << stage,
                      stride);
    }
  }
  return dense(graph, "head", global_avg_pool(graph, x), classes);
}

}  // namespace spire
