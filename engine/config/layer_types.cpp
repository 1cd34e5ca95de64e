#include "engine/config/layer_types.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "engine/config/schema_parts.h"

namespace spire {

namespace {

using schema_parts::at_least;
using schema_parts::fraction_range;
using schema_parts::max_size;

using List = std::vector<int64_t>;
using Words = std::vector<std::string>;

constexpr Range width_range = at_least(1, max_size);
constexpr Range window_range = at_least(1, 1024);
constexpr Range small_range = {.low = 0, .high = 1, .low_open = true};

// One function for each kind of key. A key without a default is required.
LayerKey integer(const std::string& name, const std::string& help, Range range = width_range,
                 std::optional<LayerValue> fallback = {}, Words words = {}) {
  return {name, LayerKind::integer, std::move(fallback), help, range, std::move(words)};
}
LayerKey main(LayerKey key) {
  key.is_main = true;
  return key;
}
LayerKey number(const std::string& name, double fallback, const std::string& help, Range range) {
  return {name, LayerKind::number, fallback, help, range, {}};
}
LayerKey boolean(const std::string& name, bool fallback, const std::string& help) {
  return {name, LayerKind::boolean, fallback, help, {}, {}};
}
// The first word is the default.
LayerKey word(const std::string& name, Words words, const std::string& help) {
  return {name, LayerKind::word, words.front(), help, {}, words};
}
LayerKey extent(const std::string& name, LayerValue fallback, const std::string& help, Range range,
                Words words = {}) {
  return {name, LayerKind::extent, std::move(fallback), help, range, std::move(words)};
}

// Activations: layers of their own, and words of the key `activation` of others.
std::vector<LayerType> activation_layers() {
  return {
      {"relu", "max(0, x)"},
      {"leaky_relu",
       "x, or slope * x below zero",
       {main(number("slope", 0.01, "slope below zero", at_least(0, 1)))}},
      {"gelu",
       "Gaussian error linear unit",
       {main(word("form", {"exact", "tanh"}, "tanh: the approximation that GPT-2 uses"))}},
      {"silu", "x / (1 + exp(-x))"},
      {"sigmoid", "1 / (1 + exp(-x))"},
      {"tanh", "hyperbolic tangent"},
  };
}

Words activation_names() {
  Words names;
  for (const LayerType& type : activation_layers()) names.push_back(type.name);
  return names;
}

// Keys that several layers share.
LayerKey activation() {
  Words words = activation_names();
  words.insert(words.begin(), "none");
  return word("activation", words, "what follows, with that layer's defaults");
}
LayerKey sources() {
  return {"from", LayerKind::names,
          {},     "what to take: names of earlier layers, previous or input",
          {},     {},
          true};
}
LayerKey initializer() {
  return word("init", {"kaiming_uniform", "kaiming_normal", "linear_uniform", "normal"},
              "initial weights; normal: N(0, 0.02)");
}
LayerKey epsilon() {
  return number("epsilon", 1e-5, "added to the variance", small_range);
}
LayerKey heads() {
  return main(integer("heads", "number of attention heads", at_least(1, 1024)));
}
LayerKey dropped(const std::string& what) {
  return number("dropout", 0.0, "dropout probability " + what, fraction_range);
}
LayerKey causal() {
  return boolean("causal", false, "each token attends only to itself and earlier ones");
}

LayerKey kv_heads() {
  return integer("kv_heads",
                 "heads of keys and values, each for as many heads of queries in a row; 0: heads",
                 at_least(0, 1024), int64_t{0});
}
LayerKey rope_theta() {
  return number("rope_theta", 0.0,
                "base of rotary positions of queries and keys, larger than 1 (10000 is usual); 0: "
                "none",
                at_least(0, 1e12));
}
LayerKey with_biases() {
  return boolean("bias", true, "whether its dense layers have biases");
}

std::vector<LayerKey> recurrent() {
  return {main(integer("units", "length of the state")),
          word("output", {"sequence", "last"}, "the states of all steps, or the last one")};
}

// By default windows do not overlap: the stride is the kernel's size.
std::vector<LayerKey> pooling() {
  return {main(extent("kernel", List{2}, "size of the window", window_range)),
          extent("stride", "kernel", "stride of the window", window_range, {"kernel"}),
          extent("padding", List{0}, "padding on each side, which is ignored", at_least(0, 512))};
}

// Layers of images. All shapes are of one sample, (H, W, C).
std::vector<LayerType> image_layers() {
  return {
      {"conv2d",
       "convolution: (H, W, C) -> (H', W', channels)",
       {main(integer("channels", "output channels")),
        extent("kernel", List{3}, "size of the window", window_range),
        extent("stride", List{1}, "stride of the window", window_range),
        extent(
            "padding", List{0},
            "zeros on each side; same: as many as keep height and width at stride 1 (odd kernels)",
            at_least(0, 1024), {"same"}),
        extent("dilation", List{1}, "distance between the window's cells", window_range),
        integer("groups", "number of groups of channels", width_range, int64_t{1}),
        boolean("bias", true, "whether to add a learned bias per channel"), initializer(),
        activation()}},
      {"conv_transpose2d",
       "transposed convolution: (H, W, C) -> (H', W', channels)",
       {main(integer("channels", "output channels")),
        extent("kernel", List{3}, "size of the window", window_range),
        extent("stride", List{1}, "stride of the window in the output", window_range),
        extent("padding", List{0}, "rows and columns removed on each side of the output",
               at_least(0, 1024)),
        extent("output_padding", List{0}, "rows and columns added at the end, less than the stride",
               at_least(0, 1023)),
        boolean("bias", true, "whether to add a learned bias per channel"), activation()}},
      {"resize",
       "upsampling: (H, W, C) -> (factor H, factor W, C)",
       {main(extent("factor", List{2}, "scale factor", at_least(1, 64))),
        word("kind", {"nearest", "bilinear"}, "nearest or bilinear interpolation")}},
      {"batch_norm",
       "batch normalization: zero mean and unit variance per channel over the batch, then a "
       "learned gain and bias",
       {epsilon(),
        number("momentum", 0.1, "weight of the newest batch in the running statistics",
               {.low = 0, .high = 1, .low_open = true}),
        number("gamma", 1.0, "initial gain", at_least(0, 1))}},
      {"group_norm",
       "group normalization: zero mean and unit variance per sample over the channels of a group "
       "and "
       "all positions, then a learned gain and bias; as many groups as channels: instance norm",
       {main(integer("groups", "number of groups of channels")), epsilon()}},
      {"max_pool2d", "largest value of each window", pooling()},
      {"avg_pool2d", "mean of each window", pooling()},
      {"global_avg_pool", "mean over height and width, or over tokens: (H, W, C) or (T, C) -> (C)"},
  };
}

// Layers of samples of any shape.
std::vector<LayerType> plain_layers() {
  return {
      {"dense",
       "learned linear map of the last axis: (.., K) -> (.., units)",
       {main(integer("units", "output features; classes: as many as the data has", width_range, {},
                     {"classes"})),
        boolean("bias", true, "whether to add a learned bias per unit"), initializer(),
        activation()}},
      {"activation",
       "the activation of that name, with its defaults",
       {main({"kind", LayerKind::word, {}, "which one", {}, activation_names()})}},
      {"swiglu", "silu of the first half of the last axis times the second half"},
      {"dropout",
       "sets random values to zero during training",
       {main({"rate", LayerKind::number, {}, "dropout probability", fraction_range, {}})}},
      {"flatten", "joins all axes of a sample into one"},
      {"reshape",
       "changes the shape of a sample, with the same number of values",
       {main({"shape",
              LayerKind::integers,
              {},
              "the new shape; one extent may be -1: what is left",
              at_least(-1, 1e9),
              {}})}},
      {"layer_norm",
       "layer normalization: zero mean and unit variance over the last axis, then a learned gain "
       "and bias",
       {epsilon()}},
      {"rms_norm",
       "divides by the root of the mean square of the last axis, then a learned gain",
       {epsilon()}},
  };
}

// Layers of sequences: T tokens, or T vectors of C features.
std::vector<LayerType> token_layers() {
  return {
      {"conv1d",
       "convolution along a sequence: (T, C) -> (T', channels)",
       {main(integer("channels", "output channels")),
        integer("kernel", "length of the window", window_range, int64_t{3}),
        integer("stride", "stride of the window", window_range, int64_t{1}),
        integer("padding",
                "zeros on each side; same: as many as keep the length at stride 1 (odd kernels)",
                at_least(0, 1024), int64_t{0}, {"same"}),
        integer("dilation", "distance between the window's cells", window_range, int64_t{1}),
        integer("groups", "number of groups of channels", width_range, int64_t{1}),
        boolean("bias", true, "whether to add a learned bias per channel"), initializer(),
        activation()}},
      {"lstm", "LSTM: (T, F) -> (T, units), or the last state (units)", recurrent()},
      {"gru", "GRU: (T, F) -> (T, units), or the last state (units)", recurrent()},
      {"embedding",
       "a learned vector for each token: (T) -> (T, width)",
       {main(integer("width", "length of a vector")),
        integer("vocabulary", "number of tokens; classes: of a text, as many as it has",
                at_least(1, 1e8), "classes", {"classes"})}},
      {"positions", "adds a learned vector for each position: (T, C) -> (T, C)"},
      {"attention",
       "multi-head self-attention with its projections: (T, C) -> (T, C)",
       {heads(), kv_heads(), causal(), rope_theta(), with_biases(),
        dropped("of the attention's weights")}},
      {"transformer_block",
       "norm and attention, then norm and two dense layers, each with a shortcut",
       {heads(), kv_heads(), causal(), rope_theta(), with_biases(),
        word("norm", {"layer_norm", "rms_norm"}, "what comes before attention and dense layers"),
        word("mlp", {"gelu", "swiglu"}, "what is between the dense layers"),
        integer("mlp_ratio", "width inside the dense layers, as a multiple of the width",
                at_least(1, 64), int64_t{4}),
        integer("mlp_width", "that width itself; 0: by mlp_ratio", at_least(0, max_size),
                int64_t{0}),
        word("gelu", {"exact", "tanh"}, "form of gelu"),
        dropped("of the attention's weights, and before each shortcut's sum"), epsilon()}},
  };
}

// Layers that take several outputs.
std::vector<LayerType> joins() {
  return {
      {"concat", "joins its inputs along the last axis, channels or features", {sources()}},
      {"add", "sum of its inputs, which have one shape", {sources()}},
  };
}

// Layers made of other layers.
std::vector<LayerType> holders() {
  return {
      {"residual",
       "adds a shortcut to the output of its layers",
       {word("shortcut", {"auto", "projection", "identity"},
             "auto: projection where the shape changes, else identity"),
        word("norm", {"batch_norm", "none"}, "normalization after a projection of images")},
       true},
      {"repeat",
       "repeats its layers, each time with weights of their own",
       {integer("times", "number of repetitions", at_least(1, 1000))},
       true},
  };
}

}  // namespace

const std::vector<LayerType>& layer_types() {
  static const std::vector<LayerType> types = [] {
    std::vector<LayerType> all;
    for (auto part : {image_layers, plain_layers, activation_layers, token_layers, joins, holders})
      std::ranges::move(part(), std::back_inserter(all));
    return all;
  }();
  return types;
}

const std::vector<LayerKey>& link_keys() {
  static const std::vector<LayerKey> keys = {
      {"name", LayerKind::name, LayerValue(std::string()), "by which later layers take the output"},
      {"from", LayerKind::names, LayerValue(std::string(previous_link)),
       "whose output the layer takes: the name of an earlier one, previous, or input: what the "
       "list of layers takes"}};
  return keys;
}

}  // namespace spire
