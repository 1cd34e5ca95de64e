// Vision transformer: Dosovitskiy et al., "An Image is Worth 16x16 Words", 2021. Squares of the
// image become tokens by one linear map; a learned class token goes first and is what the head
// reads after the last layer norm. Learned positions, pre-norm blocks, exact gelu. The head begins
// at 0, the patches' map as N(0, 1 / inputs), other matrices as Xavier's uniform.
#include <cmath>

#include "models/model.h"
#include "models/transformer.h"

namespace spire::inline models {
namespace {

constexpr float norm_epsilon = 1e-6f;

TransformerSize vit_size(const ModelConfig& config) {
  return transformer_size(
      config, {{"tiny", {12, 192, 3}}, {"small", {12, 384, 6}}, {"base", {12, 768, 12}}});
}

// images (N, H, W, C) -> (N, H / patch * W / patch, width)
Value patches(Graph& graph, Value images, int64_t patch, int64_t width) {
  const Shape& shape = graph.spec(images).shape;
  if (shape.rank() != 4 || shape[1] % patch != 0 || shape[2] % patch != 0) {
    fail(Category::config,
         "model.patch: {} does not divide the height and width of the data's images {}; use a "
         "divisor of both",
         patch, to_string(Shape(shape.dims().subspan(1))));
  }
  auto inputs = static_cast<double>(patch * patch * shape[3]);
  Value x = conv2d(graph, "patches", images,
                   {.channels = width,
                    .kernel = {patch, patch},
                    .stride = {patch, patch},
                    .initialize = normal(1.0 / std::sqrt(inputs))});
  const Shape& grid = graph.spec(x).shape;
  return reshape(graph, x, {grid[0], grid[1] * grid[2], width});
}

Value with_class_token(Graph& graph, Value x) {
  const TensorSpec spec = graph.spec(x);
  Value token = graph.parameter("class_token.weight", {1, spec.shape[2]}, constant(0));
  return concat(graph, {expand(graph, token, spec.shape[0], spec.dtype), x}, 1);
}

}  // namespace

Value vit(Graph& graph, Value images, const ModelConfig& config, int64_t classes) {
  TransformerSize size = vit_size(config);
  auto rate = static_cast<float>(config.dropout);
  Value x = with_class_token(graph, patches(graph, images, config.patch, size.width));
  x = position_embedding(graph, "positions", x, normal(0.02));
  x = dropout(graph, x, rate);
  TransformerOptions options{.heads = size.heads, .dropout = rate, .epsilon = norm_epsilon};
  for (int64_t i = 0; i < size.blocks; ++i)
    x = transformer_block(graph, fmt::format("block{}", i + 1), x, options);
  // The norm is of each token apart from the others, so that only the class token needs it.
  x = reshape(graph, slice(graph, x, 1, 0, 1), {graph.spec(x).shape[0], size.width});
  x = layer_norm(graph, "norm", x, norm_epsilon);
  return dense(graph, "head", x, classes, true, constant(0));
}

}  // namespace spire::inline models
