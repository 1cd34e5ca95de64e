#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/ranges.h>

#include <spire/error.h>

#include "engine/base/text.h"
#include "tools/bench/bench.h"

namespace spire {
namespace {

struct BuiltInModel {
  std::string_view name, yaml;
};

constexpr std::array models = {
    BuiltInModel{"mlp", R"(
model: {name: mlp, hidden: [512, 256]}
data: {name: synthetic, synthetic: {kind: features, shape: [784], classes: 10}}
batch_size: 64
optimizer: {name: adam}
)"},
    BuiltInModel{"cnn", R"(
model: {name: cnn}
data: {name: synthetic, synthetic: {kind: images, shape: [28, 28, 1], classes: 10}}
batch_size: 64
optimizer: {name: adam}
)"},
    BuiltInModel{"resnet20", R"(
model: {name: resnet, variant: cifar, depth: 20}
data: {name: synthetic, synthetic: {kind: images, shape: [32, 32, 3], classes: 10}}
batch_size: 64
optimizer: {name: sgd, lr: 0.05, momentum: 0.9}
)"},
    BuiltInModel{"resnet50", R"(
model: {name: resnet, variant: imagenet, depth: 50}
data: {name: synthetic, synthetic: {kind: images, shape: [224, 224, 3], classes: 1000}}
batch_size: 8
optimizer: {name: sgd, lr: 0.01, momentum: 0.9}
)"},
    BuiltInModel{"gpt", R"(
model: {name: gpt, blocks: 6, width: 384, heads: 6}
data: {name: synthetic, synthetic: {kind: tokens, shape: [256], classes: 65}}
batch_size: 8
optimizer: {name: adamw, lr: 1.0e-3}
)"},
    BuiltInModel{"gpt2", R"(
model: {name: gpt, size: gpt2, context: 1024}
data: {name: synthetic, synthetic: {kind: tokens, shape: [256], classes: 50257}}
batch_size: 2
optimizer: {name: adamw, lr: 3.0e-4}
)"},
};

}  // namespace

std::vector<std::string> built_in_models() {
  std::vector<std::string> names;
  for (const BuiltInModel& model : models) names.emplace_back(model.name);
  return names;
}

ConfigText built_in_model(const std::string& name) {
  auto found = std::ranges::find(models, name, &BuiltInModel::name);
  if (found != models.end())
    return {fmt::format("the built-in config of {}", name), std::string(found->yaml)};
  fail(Category::config, "--model {}: must be one of {}{}; --config reads the config of any model",
       name, fmt::join(built_in_models(), ", "), did_you_mean(nearest(name, built_in_models())));
}

}  // namespace spire
