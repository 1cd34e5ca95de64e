// Model that the config spells out as a list of layers. Parameters are named by the place of their
// layer: "0.conv2d.weight", "3.residual.1.conv2d.weight", "4.repeat.0.2.dense.weight".
#include "engine/config/layer_types.h"
#include "models/model.h"
#include "models/transformer.h"

namespace spire::inline models {
namespace {

// A layer to build, with its input and typed access to its keys.
struct Build {
  Graph& graph;
  const LayerConfig& layer;
  std::string name;
  Value x;
  bool sync;        // of batch norm
  int64_t classes;  // the number that `units: classes` means

  const TensorSpec& spec() const { return graph.spec(x); }
  bool flag(const char* key) const { return layer_value<bool>(layer, key); }
  int64_t whole(const char* key) const { return layer_value<int64_t>(layer, key); }
  float real(const char* key) const { return static_cast<float>(layer_value<double>(layer, key)); }
  const std::string& word(const char* key) const { return layer_value<std::string>(layer, key); }
  bool is_word(const char* key) const {
    return std::holds_alternative<std::string>(layer_value(layer, key));
  }
  Extent2d extent(const char* key) const {
    const auto& list = layer_value<std::vector<int64_t>>(layer, key);
    return {list.front(), list.back()};
  }
  int64_t count(const char* key) const { return is_word(key) ? classes : whole(key); }

  // fan: inputs of one output, and outputs of one input.
  Initializer initializer(int64_t fan_in, int64_t fan_out) const {
    const std::string& kind = word("init");
    if (kind == "kaiming_normal") return kaiming_normal(fan_out);
    if (kind == "linear_uniform") return linear_uniform(fan_in);
    return kind == "normal" ? normal(0.02) : kaiming_uniform(fan_in);
  }
  TransformerOptions transformer() const {
    return {.heads = whole("heads"),
            .kv_heads = whole("kv_heads"),
            .causal = flag("causal"),
            .rope_theta = layer_value<double>(layer, "rope_theta"),
            .bias = flag("bias"),
            .dropout = real("dropout")};
  }
};

Extent2d conv_padding(const Build& b) {
  if (!b.is_word("padding")) return b.extent("padding");
  Extent2d kernel = b.extent("kernel"), dilation = b.extent("dilation");
  int64_t h = dilation.h * (kernel.h - 1), w = dilation.w * (kernel.w - 1);
  if (h % 2 != 0 || w % 2 != 0) {
    fail(Category::config,
         "padding: same needs an odd kernel, got {}; use an odd kernel or give padding as a number",
         to_string(kernel));
  }
  return {h / 2, w / 2};
}

Value build_conv2d(const Build& b) {
  int64_t channels = b.whole("channels"), groups = b.whole("groups");
  Extent2d kernel = b.extent("kernel");
  int64_t taps = kernel.h * kernel.w;
  int64_t inputs = std::max<int64_t>(1, b.spec().shape.back() / groups);
  return conv2d(b.graph, b.name, b.x,
                {.channels = channels,
                 .kernel = kernel,
                 .stride = b.extent("stride"),
                 .padding = conv_padding(b),
                 .dilation = b.extent("dilation"),
                 .groups = groups,
                 .bias = b.flag("bias"),
                 .initialize = b.initializer(taps * inputs, taps * channels)});
}

Value build_conv_transpose2d(const Build& b) {
  return conv_transpose2d(b.graph, b.name, b.x,
                          {.channels = b.whole("channels"),
                           .kernel = b.extent("kernel"),
                           .stride = b.extent("stride"),
                           .padding = b.extent("padding"),
                           .output_padding = b.extent("output_padding"),
                           .bias = b.flag("bias")});
}

Value build_resize(const Build& b) {
  Extent2d factor = b.extent("factor"), from = extent_of(b.spec().shape);
  return resize(b.graph, b.x, {from.h * factor.h, from.w * factor.w},
                b.word("kind") == "bilinear" ? Resize::bilinear : Resize::nearest);
}

Value build_batch_norm(const Build& b) {
  return batch_norm(b.graph, b.name, b.x,
                    {.epsilon = b.real("epsilon"),
                     .momentum = b.real("momentum"),
                     .gamma = b.real("gamma"),
                     .sync = b.sync});
}

PoolOptions pooling(const Build& b) {
  Extent2d kernel = b.extent("kernel");
  return {.kernel = kernel,
          .stride = b.is_word("stride") ? kernel : b.extent("stride"),
          .padding = b.extent("padding")};
}

// Tokens (N, T, C) are pooled as images of one column.
Value build_global_avg_pool(const Build& b) {
  const Shape& shape = b.spec().shape;
  Value x = b.x;
  if (shape.rank() == 3) x = reshape(b.graph, x, {shape[0], shape[1], 1, shape[2]});
  return global_avg_pool(b.graph, x);
}

Value build_dense(const Build& b) {
  int64_t inputs = b.spec().shape.back(), units = b.count("units");
  return dense(b.graph, b.name, b.x, units, b.flag("bias"), b.initializer(inputs, units));
}

// The requested shape; -1 becomes the number that keeps the sample's size.
Value build_reshape(const Build& b) {
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
  return reshape(b.graph, b.x, Shape(dims));
}

Value build_embedding(const Build& b) {
  return embedding(b.graph, b.name, b.x, b.count("vocabulary"), b.whole("width"),
                   b.graph.compute_dtype(), normal(0.02))
      .output;
}

Value build_transformer_block(const Build& b) {
  TransformerOptions options = b.transformer();
  if (b.word("norm") == "rms_norm") options.norm = TransformerOptions::Norm::rms_norm;
  options.mlp_ratio = b.whole("mlp_ratio");
  options.mlp_width = b.whole("mlp_width");
  if (b.word("gelu") == "tanh") options.mlp = TransformerOptions::Mlp::gelu_tanh;
  if (b.word("mlp") == "swiglu") options.mlp = TransformerOptions::Mlp::swiglu;
  options.epsilon = b.real("epsilon");
  return transformer_block(b.graph, b.name, b.x, options);
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

struct Entry {
  std::string_view type;
  Value (*build)(const Build&);
  Takes takes = Takes::any;
};

// Builders of the layer types that hold no other layers.
constexpr Entry table[] = {
    {"conv2d", build_conv2d, Takes::images},
    {"conv_transpose2d", build_conv_transpose2d, Takes::images},
    {"resize", build_resize, Takes::images},
    {"batch_norm", build_batch_norm},
    {"max_pool2d", [](const Build& b) { return max_pool2d(b.graph, b.x, pooling(b)); },
     Takes::images},
    {"avg_pool2d", [](const Build& b) { return avg_pool2d(b.graph, b.x, pooling(b)); },
     Takes::images},
    {"global_avg_pool", build_global_avg_pool},
    {"dense", build_dense},
    {"relu", [](const Build& b) { return relu(b.graph, b.x); }},
    {"leaky_relu", [](const Build& b) { return leaky_relu(b.graph, b.x, b.real("slope")); }},
    {"gelu",
     [](const Build& b) {
       return b.word("form") == "tanh" ? gelu_tanh(b.graph, b.x) : gelu(b.graph, b.x);
     }},
    {"silu", [](const Build& b) { return silu(b.graph, b.x); }},
    {"swiglu", [](const Build& b) { return swiglu(b.graph, b.x); }},
    {"sigmoid", [](const Build& b) { return sigmoid(b.graph, b.x); }},
    {"tanh", [](const Build& b) { return tanh(b.graph, b.x); }},
    {"dropout", [](const Build& b) { return dropout(b.graph, b.x, b.real("rate")); }},
    {"flatten", [](const Build& b) { return flatten(b.graph, b.x); }},
    {"reshape", build_reshape},
    {"layer_norm",
     [](const Build& b) { return layer_norm(b.graph, b.name, b.x, b.real("epsilon")); }},
    {"rms_norm", [](const Build& b) { return rms_norm(b.graph, b.name, b.x, b.real("epsilon")); }},
    {"embedding", build_embedding},
    {"positions",
     [](const Build& b) { return position_embedding(b.graph, b.name, b.x, normal(0.02)); },
     Takes::tokens},
    {"attention",
     [](const Build& b) { return self_attention(b.graph, b.name, b.x, b.transformer()); },
     Takes::tokens},
    {"transformer_block", build_transformer_block, Takes::tokens},
};

class LayersBuilder {
 public:
  LayersBuilder(Graph& graph, const ModelConfig& config, int64_t classes)
      : graph_(graph),
        sync_(config.batch_norm == ModelConfig::BatchNorm::sync),
        classes_(classes) {}

  // path: of the list, for messages; prefix: of its parameters' names.
  Value list(const std::vector<LayerConfig>& layers, Value x, const std::string& path,
             const std::string& prefix) const {
    for (size_t i = 0; i < layers.size(); ++i) {
      const std::string& type = layers[i].type;
      x = one(layers[i], x, layer_path(path, i, type), fmt::format("{}{}.{}", prefix, i, type));
    }
    return x;
  }

 private:
  Value one(const LayerConfig& layer, Value x, const std::string& path,
            const std::string& name) const {
    if (layer.type == "residual") return residual(layer, x, path, name);
    if (layer.type == "repeat") {
      for (int64_t time = 0; time < layer_value<int64_t>(layer, "times"); ++time)
        x = list(layer.layers, x, path + ".layers", fmt::format("{}.{}.", name, time));
      return x;
    }
    for (const Entry& entry : table) {
      if (entry.type != layer.type) continue;
      return at(path, x, [&] {
        expect_input(entry.takes, graph_.spec(x).shape);
        return entry.build({graph_, layer, name, x, sync_, classes_});
      });
    }
    fail(Category::config, "{}: unknown layer", path);
  }

  // Adds the layer's place and its input's shape to the errors of `make`.
  template <typename Make>
  Value at(const std::string& path, Value x, Make make) const {
    std::string input = to_string(graph_.spec(x).shape);
    try {
      return make();
    } catch (const Error& error) {
      fail(error.category(), "{}: {}; its input is {}", path, error.what(), input);
    }
  }

  Value residual(const LayerConfig& layer, Value x, const std::string& path,
                 const std::string& name) const {
    Graph::Block block(graph_, name);
    Value y = list(layer.layers, x, path + ".layers", name + ".");
    return at(path, x, [&] {
      const std::string& kind = layer_value<std::string>(layer, "shortcut");
      bool same = graph_.spec(x).shape == graph_.spec(y).shape;
      bool project = kind == "projection" || (kind == "auto" && !same);
      if (!project && !same) {
        fail(Category::config, "its layers turn it into {}; use shortcut: auto",
             to_string(graph_.spec(y).shape));
      }
      return add(graph_, y, project ? projection(layer, x, y, name + ".shortcut") : x);
    });
  }

  // A 1x1 convolution of x to the shape of y, or a dense layer where neither is an image.
  Value projection(const LayerConfig& layer, Value x, Value y, const std::string& name) const {
    const Shape &from = graph_.spec(x).shape, &to = graph_.spec(y).shape;
    int64_t channels = to.back();
    if (from.rank() != 4 || to.rank() != 4)
      return dense(graph_, name, x, channels, false, linear_uniform(from.back()));
    Extent2d a = extent_of(from), b = extent_of(to);
    Value z = conv2d(graph_, name + ".conv", x,
                     {.channels = channels,
                      .kernel = {1, 1},
                      .stride = {(a.h + b.h - 1) / b.h, (a.w + b.w - 1) / b.w},
                      .bias = false,
                      .initialize = kaiming_normal(channels)});
    if (layer_value<std::string>(layer, "norm") == "none") return z;
    return batch_norm(graph_, name + ".norm", z, {.sync = sync_});
  }

  Graph& graph_;
  bool sync_;
  int64_t classes_;
};

}  // namespace

Value layers_model(Graph& graph, Value input, const ModelConfig& config, int64_t classes) {
  check_layers(config.layers, "model.layers");
  return LayersBuilder(graph, config, classes).list(config.layers, input, "model.layers", "");
}

bool layers_make_images(const std::vector<LayerConfig>& layers, const Shape& sample) {
  // The rank of the last tensor decides. Residuals and repeats hold lists of their own.
  int rank = sample.rank();
  auto follow = [&](const std::vector<LayerConfig>& list, const auto& self) -> void {
    for (const LayerConfig& layer : list) {
      if (layer.type == "flatten" || layer.type == "global_avg_pool") rank = 1;
      if (layer.type == "reshape")
        rank = static_cast<int>(layer_value<std::vector<int64_t>>(layer, "shape").size());
      self(layer.layers, self);
    }
  };
  follow(layers, follow);
  return sample.rank() == 3 && rank == 3;
}

}  // namespace spire::inline models
