#include "models/layer_builders.h"

#include <algorithm>
#include <iterator>

#include "engine/base/fail.h"

namespace spire {
namespace {

// The zeros on each side that keep an axis as long as it is. kernel: as messages show it.
int64_t same_padding(int64_t taps, int64_t dilation, const std::string& kernel) {
  int64_t reach = dilation * (taps - 1);
  if (reach % 2 == 0) return reach / 2;
  fail(Category::config,
       "padding: same needs an odd kernel, got {}; use an odd kernel or give padding as a number",
       kernel);
}

int64_t conv1d_padding(const LayerBuild& b) {
  if (!b.is_word("padding")) return b.whole("padding");
  int64_t kernel = b.whole("kernel");
  return same_padding(kernel, b.whole("dilation"), fmt::format("{}", kernel));
}

Value build_conv1d(const LayerBuild& b) {
  int64_t channels = b.whole("channels"), groups = b.whole("groups"), kernel = b.whole("kernel");
  int64_t inputs = std::max<int64_t>(1, b.spec().shape.back() / groups);
  return conv1d(b.graph, b.name, b.x(),
                {.channels = channels,
                 .kernel = kernel,
                 .stride = b.whole("stride"),
                 .padding = conv1d_padding(b),
                 .dilation = b.whole("dilation"),
                 .groups = groups,
                 .bias = b.flag("bias"),
                 .initialize = b.initializer(kernel * inputs, kernel * channels)});
}

RecurrentOptions recurrent_options(const LayerBuild& b) {
  return {.units = b.whole("units"), .last = b.word("output") == "last"};
}

Extent2d conv_padding(const LayerBuild& b) {
  if (!b.is_word("padding")) return b.extent("padding");
  Extent2d kernel = b.extent("kernel"), dilation = b.extent("dilation");
  std::string text = to_string(kernel);
  return {same_padding(kernel.h, dilation.h, text), same_padding(kernel.w, dilation.w, text)};
}

Value build_conv2d(const LayerBuild& b) {
  int64_t channels = b.whole("channels"), groups = b.whole("groups");
  Extent2d kernel = b.extent("kernel");
  int64_t taps = kernel.h * kernel.w;
  int64_t inputs = std::max<int64_t>(1, b.spec().shape.back() / groups);
  return conv2d(b.graph, b.name, b.x(),
                {.channels = channels,
                 .kernel = kernel,
                 .stride = b.extent("stride"),
                 .padding = conv_padding(b),
                 .dilation = b.extent("dilation"),
                 .groups = groups,
                 .bias = b.flag("bias"),
                 .initialize = b.initializer(taps * inputs, taps * channels)});
}

Value build_conv_transpose2d(const LayerBuild& b) {
  return conv_transpose2d(b.graph, b.name, b.x(),
                          {.channels = b.whole("channels"),
                           .kernel = b.extent("kernel"),
                           .stride = b.extent("stride"),
                           .padding = b.extent("padding"),
                           .output_padding = b.extent("output_padding"),
                           .bias = b.flag("bias")});
}

Value build_resize(const LayerBuild& b) {
  Extent2d factor = b.extent("factor"), from = extent_of(b.spec().shape);
  return resize(b.graph, b.x(), {from.h * factor.h, from.w * factor.w},
                b.word("kind") == "bilinear" ? Resize::bilinear : Resize::nearest);
}

Value build_batch_norm(const LayerBuild& b) {
  return batch_norm(b.graph, b.name, b.x(),
                    {.epsilon = b.real("epsilon"),
                     .momentum = b.real("momentum"),
                     .gamma = b.real("gamma"),
                     .sync = b.sync});
}

PoolOptions pooling(const LayerBuild& b) {
  Extent2d kernel = b.extent("kernel");
  return {.kernel = kernel,
          .stride = b.is_word("stride") ? kernel : b.extent("stride"),
          .padding = b.extent("padding")};
}

// Tokens (N, T, C) are pooled as images of one column.
Value build_global_avg_pool(const LayerBuild& b) {
  const Shape& shape = b.spec().shape;
  Value x = b.x();
  if (shape.rank() == 3) x = reshape(b.graph, x, {shape[0], shape[1], 1, shape[2]});
  return global_avg_pool(b.graph, x);
}

Value build_dense(const LayerBuild& b) {
  int64_t inputs = b.spec().shape.back(), units = b.count("units");
  return dense(b.graph, b.name, b.x(), units, b.flag("bias"), b.initializer(inputs, units));
}

// The requested shape; -1 becomes the number that keeps the sample's size.
Value build_reshape(const LayerBuild& b) {
  const Shape& from = b.spec().shape;
  std::vector<int64_t> dims = layer_value<std::vector<int64_t>>(b.layer, "shape");
  int64_t values = from.elements() / from[0], known = 1;
  int64_t* open = nullptr;
  for (int64_t& dim : dims) {
    if (dim == 0 || (dim == -1 && open != nullptr) || (dim > 0 && known > values / dim))
      fail(Category::config, "cannot be reshaped to ({}): there are {} values",
           fmt::join(dims, ", "), values);
    // known > values / dim above: the product cannot overflow.
    dim == -1 ? void(open = &dim) : void(known *= dim);
  }
  if (open != nullptr) *open = values / known;
  dims.insert(dims.begin(), from[0]);
  if (dims.size() > Shape::max_rank)
    fail(Category::config, "shape has more than {} axes", Shape::max_rank - 1);
  return reshape(b.graph, b.x(), Shape(dims));
}

// Beside labels or values the data counts those, not its tokens.
int64_t vocabulary_of(const LayerBuild& b) {
  bool counted = b.is_word("vocabulary") && b.spec().dtype == DType::i32;
  for (Value input : b.graph.values_of(Role::input)) {
    const std::string& name = b.graph.tensor(input).name;
    if (counted && (name == "labels" || name == "values"))
      fail(Category::config,
           "vocabulary: classes counts the {} ({}), not the tokens; set vocabulary: N, the largest "
           "token + 1",
           name, b.classes);
  }
  return b.count("vocabulary");
}

Value build_embedding(const LayerBuild& b) {
  return embedding(b.graph, b.name, b.x(), vocabulary_of(b), b.whole("width"),
                   b.graph.compute_dtype(), init::normal(0.02))
      .output;
}

Value build_transformer_block(const LayerBuild& b) {
  TransformerOptions options = b.transformer();
  if (b.word("norm") == "rms_norm") options.norm = TransformerOptions::Norm::rms_norm;
  options.mlp_ratio = b.whole("mlp_ratio");
  options.mlp_width = b.whole("mlp_width");
  if (b.word("gelu") == "tanh") options.mlp = TransformerOptions::Mlp::gelu_tanh;
  if (b.word("mlp") == "swiglu") {
    if (b.word("gelu") == "tanh")
      fail(Category::config,
           "gelu: tanh is a form of mlp: gelu, but mlp is swiglu; leave out gelu, or use mlp: "
           "gelu");
    options.mlp = TransformerOptions::Mlp::swiglu;
  }
  options.epsilon = b.real("epsilon");
  return transformer_block(b.graph, b.name, b.x(), options);
}

// concat and add take several outputs, all other layers one.
Value build_concat(const LayerBuild& b) {
  return concat(b.graph, b.inputs, -1);
}

Value build_add(const LayerBuild& b) {
  Value sum = b.inputs[0];
  for (size_t i = 1; i < b.inputs.size(); ++i) sum = add(b.graph, sum, b.inputs[i]);
  return sum;
}

// Inputs that a layer takes, where that follows from its type. Ops check the rest, but their
// messages know nothing of layers and may name shapes inside of one.
enum class Takes { any, images, tokens };

void expect_input(Takes takes, const Shape& input) {
  if (takes == Takes::images && input.rank() != 4) {
    fail(Category::config,
         "takes images (N, H, W, C); {{reshape: {{shape: [H, W, C]}}}} before it makes some");
  }
  if (takes == Takes::tokens && input.rank() != 3) {
    fail(Category::config,
         "takes tokens (N, T, C); {{reshape: {{shape: [T, C]}}}} before it makes some");
  }
}

struct BuilderEntry {
  std::string_view type;
  Value (*build)(const LayerBuild&);
  Takes takes = Takes::any;
};

// Builders of the layer types that hold no other layers.
constexpr BuilderEntry table[] = {
    {"conv2d", build_conv2d, Takes::images},
    {"conv_transpose2d", build_conv_transpose2d, Takes::images},
    {"resize", build_resize, Takes::images},
    {"batch_norm", build_batch_norm},
    {"max_pool2d", [](const LayerBuild& b) { return max_pool2d(b.graph, b.x(), pooling(b)); },
     Takes::images},
    {"avg_pool2d", [](const LayerBuild& b) { return avg_pool2d(b.graph, b.x(), pooling(b)); },
     Takes::images},
    {"global_avg_pool", build_global_avg_pool},
    {"dense", build_dense},
    {"relu", [](const LayerBuild& b) { return relu(b.graph, b.x()); }},
    {"leaky_relu", [](const LayerBuild& b) { return leaky_relu(b.graph, b.x(), b.real("slope")); }},
    {"gelu",
     [](const LayerBuild& b) {
       return b.word("form") == "tanh" ? gelu_tanh(b.graph, b.x()) : gelu(b.graph, b.x());
     }},
    {"silu", [](const LayerBuild& b) { return silu(b.graph, b.x()); }},
    {"swiglu", [](const LayerBuild& b) { return swiglu(b.graph, b.x()); }},
    {"sigmoid", [](const LayerBuild& b) { return sigmoid(b.graph, b.x()); }},
    {"tanh", [](const LayerBuild& b) { return tanh(b.graph, b.x()); }},
    {"dropout", [](const LayerBuild& b) { return dropout(b.graph, b.x(), b.real("rate")); }},
    {"flatten", [](const LayerBuild& b) { return flatten(b.graph, b.x()); }},
    {"reshape", build_reshape},
    {"layer_norm",
     [](const LayerBuild& b) { return layer_norm(b.graph, b.name, b.x(), b.real("epsilon")); }},
    {"rms_norm",
     [](const LayerBuild& b) { return rms_norm(b.graph, b.name, b.x(), b.real("epsilon")); }},
    {"group_norm",
     [](const LayerBuild& b) {
       return group_norm(b.graph, b.name, b.x(), b.whole("groups"), b.real("epsilon"));
     }},
    {"conv1d", build_conv1d, Takes::tokens},
    {"lstm", [](const LayerBuild& b) { return lstm(b.graph, b.name, b.x(), recurrent_options(b)); },
     Takes::tokens},
    {"gru", [](const LayerBuild& b) { return gru(b.graph, b.name, b.x(), recurrent_options(b)); },
     Takes::tokens},
    {"embedding", build_embedding},
    {"positions",
     [](const LayerBuild& b) {
       return position_embedding(b.graph, b.name, b.x(), init::normal(0.02));
     },
     Takes::tokens},
    {"attention",
     [](const LayerBuild& b) { return self_attention(b.graph, b.name, b.x(), b.transformer()); },
     Takes::tokens},
    {"transformer_block", build_transformer_block, Takes::tokens},
    {"concat", build_concat},
    {"add", build_add},
};

const BuilderEntry& find_builder(std::string_view type) {
  auto found = std::ranges::find(table, type, &BuilderEntry::type);
  require(found != std::end(table), "layer '{}' has no builder", type);
  return *found;
}

// The activation of that name, with the defaults of its keys.
Value build_activation(const LayerBuild& b, const std::string& kind, Value x) {
  LayerConfig layer{.type = kind};
  return find_builder(kind).build({b.graph, layer, b.name, {x}, b.sync, b.classes});
}

}  // namespace

Value build_layer(const LayerBuild& b) {
  if (b.layer.type == "activation") return build_activation(b, b.word("kind"), b.x());
  const BuilderEntry& entry = find_builder(b.layer.type);
  expect_input(entry.takes, b.spec().shape);
  Value y = entry.build(b);
  bool followed = find_layer_key(*find_layer_type(b.layer.type), "activation") != nullptr;
  if (!followed || b.word("activation") == "none") return y;
  return build_activation(b, b.word("activation"), y);
}

}  // namespace spire
