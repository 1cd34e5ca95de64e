#include <spire/base/error.h>
#include <spire/config/layer_types.h>
#include <spire/config/schema_parts.h>

#include <algorithm>

namespace spire {

namespace {

using schema_parts::at_least;
using schema_parts::kFraction;
using schema_parts::kSizes;

using List = std::vector<int64_t>;
using Words = std::vector<std::string>;

constexpr Range kWidths = at_least(1, kSizes);
constexpr Range kWindow = at_least(1, 1024);
constexpr Range kSmall = {.low = 0, .high = 1, .low_open = true};

LayerKey integer(const std::string& name, const std::string& help, Range range = kWidths,
                 std::optional<LayerValue> fallback = {}, Words words = {}) {
  return {name, LayerKind::integer, std::move(fallback), help, range, std::move(words)};
}
LayerKey number(const std::string& name, double fallback, const std::string& help, Range range) {
  return {name, LayerKind::number, fallback, help, range, {}};
}
LayerKey boolean(const std::string& name, bool fallback, const std::string& help) {
  return {name, LayerKind::boolean, fallback, help, {}, {}};
}
LayerKey word(const std::string& name, Words words, const std::string& help) {
  return {name, LayerKind::word, words.front(), help, {}, words};
}
LayerKey extent(const std::string& name, LayerValue fallback, const std::string& help, Range range,
                Words words = {}) {
  return {name, LayerKind::extent, std::move(fallback), help, range, std::move(words)};
}

LayerKey initializer() {
  return word("init", {"kaiming_uniform", "kaiming_normal", "linear_uniform", "normal"},
              "what the weights begin as; normal: N(0, 0.02)");
}
LayerKey epsilon() {
  return number("epsilon", 1e-5, "added to the variance", kSmall);
}
LayerKey heads() {
  return integer("heads", "parts of the width that attend apart from each other",
                 at_least(1, 1024));
}
LayerKey dropped(const std::string& what) {
  return number("dropout", 0.0, "share dropped " + what, kFraction);
}
LayerKey causal() {
  return boolean("causal", false, "no token sees those behind it");
}

std::vector<LayerKey> pooling() {
  return {extent("kernel", List{2}, "window", kWindow),
          extent("stride", "kernel", "steps of the window", kWindow, {"kernel"}),
          extent("padding", List{0}, "cells added on each side, which never win or count",
                 at_least(0, 512))};
}

std::vector<LayerType> image_layers() {
  return {
      {"conv2d",
       "convolution: (H, W, C) -> (H', W', channels)",
       {integer("channels", "of the output"), extent("kernel", List{3}, "window", kWindow),
        extent("stride", List{1}, "steps of the window", kWindow),
        extent("padding", List{0},
               "zeros on each side; same: as many as keep the extent at stride 1 (odd kernels)",
               at_least(0, 1024), {"same"}),
        extent("dilation", List{1}, "distance of the window's cells", kWindow),
        integer("groups", "parts of the channels that do not see each other", kWidths, int64_t{1}),
        boolean("bias", true, "a learned shift a channel"), initializer()}},
      {"conv_transpose2d",
       "transposed convolution: (H, W, C) -> (H', W', channels)",
       {integer("channels", "of the output"), extent("kernel", List{3}, "window", kWindow),
        extent("stride", List{1}, "steps of the window in the output", kWindow),
        extent("padding", List{0}, "cells cut off on each side of the output", at_least(0, 1024)),
        extent("output_padding", List{0}, "rows and columns added at the end, less than the stride",
               at_least(0, 1023)),
        boolean("bias", true, "a learned shift a channel")}},
      {"resize",
       "more pixels: (H, W, C) -> (factor H, factor W, C)",
       {extent("factor", List{2}, "how many for one", at_least(1, 64)),
        word("kind", {"nearest", "bilinear"}, "copies, or mixes of the neighbours")}},
      {"batch_norm",
       "zero mean and unit variance a channel over the batch, then a learned gain and shift",
       {epsilon(),
        number("momentum", 0.1, "share of the newest batch in the running statistics",
               {.low = 0, .high = 1, .low_open = true}),
        number("gamma", 1.0, "what the gain begins as", at_least(0, 1))}},
      {"max_pool2d", "largest value of each window", pooling()},
      {"avg_pool2d", "mean of each window", pooling()},
      {"global_avg_pool", "mean over height and width, or over tokens: (H, W, C) or (T, C) -> (C)"},
  };
}

std::vector<LayerType> plain_layers() {
  return {
      {"dense",
       "learned linear map of the last axis: (.., K) -> (.., units)",
       {integer("units", "of the output; classes: as many as the data has", kWidths, {},
                {"classes"}),
        boolean("bias", true, "a learned shift a unit"), initializer()}},
      {"relu", "max(0, x)"},
      {"leaky_relu", "x or slope x", {number("slope", 0.01, "below zero", at_least(0, 1))}},
      {"gelu",
       "x times the share of a normal distribution below it",
       {word("form", {"exact", "tanh"}, "tanh: the approximation that GPT-2 has")}},
      {"sigmoid", "1 / (1 + exp(-x))"},
      {"tanh", "hyperbolic tangent"},
      {"dropout",
       "zeroes a random share in training",
       {{"rate", LayerKind::number, {}, "the share", kFraction, {}}}},
      {"flatten", "all axes of a sample in one"},
      {"reshape",
       "another shape of a sample with as many values",
       {{"shape",
         LayerKind::integers,
         {},
         "extents; one may be -1: what is left",
         at_least(-1, 1e9),
         {}}}},
      {"layer_norm",
       "zero mean and unit variance of the last axis, then a learned gain and shift",
       {epsilon()}},
  };
}

std::vector<LayerType> token_layers() {
  return {
      {"embedding",
       "a learned vector for each token: (T) -> (T, width)",
       {integer("width", "of a vector"),
        integer("vocabulary", "tokens; classes: as many as the data has", at_least(1, 1e8),
                "classes", {"classes"})}},
      {"positions", "adds a learned vector for each position: (T, C) -> (T, C)"},
      {"attention",
       "multi-head self-attention with its projections: (T, C) -> (T, C)",
       {heads(), causal(), dropped("of the attention's weights")}},
      {"transformer_block",
       "layer norm, attention, layer norm, two dense layers, each pair around a shortcut",
       {heads(), causal(),
        integer("mlp_ratio", "width inside the dense layers, in widths", at_least(1, 64),
                int64_t{4}),
        word("gelu", {"exact", "tanh"}, "form of the activation"),
        dropped("of the attention's weights, and ahead of each shortcut's sum"), epsilon()}},
  };
}

std::vector<LayerType> holders() {
  return {
      {"residual",
       "the sum of its layers' result and of a shortcut around them",
       {word("shortcut", {"auto", "projection", "identity"},
             "auto: a projection where the shape changes"),
        word("norm", {"batch_norm", "none"}, "what follows a projection of images")},
       true},
      {"repeat",
       "its layers so many times, each time with weights of their own",
       {integer("times", "how often", at_least(1, 1000))},
       true},
  };
}

}  // namespace

const std::vector<LayerType>& layer_types() {
  static const std::vector<LayerType> types = [] {
    std::vector<LayerType> all;
    for (auto part : {image_layers, plain_layers, token_layers, holders})
      std::ranges::move(part(), std::back_inserter(all));
    return all;
  }();
  return types;
}

}  // namespace spire
