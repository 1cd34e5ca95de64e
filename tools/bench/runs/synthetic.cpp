#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include <fmt/ranges.h>

#include <spire/error.h>

#include "engine/base/text.h"
#include "engine/config/check.h"
#include "engine/data/dataset.h"
#include "tools/bench/runs/variants.h"

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

SampleSpec spec_of(const RunConfig& config) {
  try {
    return open_dataset(config.data, {.seed = config.seed}).train->spec();
  } catch (const Error& error) {
    throw Error(
        error.category(),
        fmt::format("{}; the benchmark needs the form of the config's samples also for "
                    "synthetic data; mend data, or describe the samples: data.name=synthetic "
                    "data.synthetic.kind=... data.synthetic.shape=... "
                    "data.synthetic.classes=...",
                    error.what()));
  }
}

SyntheticConfig::Kind kind_of(const SampleSpec& spec) {
  const std::string& input = spec.columns.front().name;
  if (input == "tokens") return SyntheticConfig::Kind::tokens;
  bool labels = spec.find("labels") != nullptr;
  if (labels && input == "images") return SyntheticConfig::Kind::images;
  if (labels && input == "features") return SyntheticConfig::Kind::features;
  fail(Category::config,
       "data.name: the synthetic dataset has labels, and a model of this dataset predicts numbers; "
       "use --data real");
}

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

void use_synthetic_data(RunConfig& config) {
  if (config.data.name == "synthetic") return;
  check_config(config);
  SampleSpec spec = spec_of(config);
  std::span<const int64_t> shape = spec.columns.front().shape.dims();
  DataConfig data;
  data.name = "synthetic";
  data.workers = config.data.workers;
  data.prefetch = config.data.prefetch;
  data.last_batch = config.data.last_batch;
  data.synthetic.kind = kind_of(spec);
  data.synthetic.shape.assign(shape.begin(), shape.end());
  data.synthetic.classes = spec.classes;
  config.data = data;
}

}  // namespace spire
