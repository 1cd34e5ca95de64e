#include <spire/optim/optimizer.h>

#include <fmt/ranges.h>

#include <spire/base/error.h>

namespace spire {
namespace {

struct Entry {
  std::string name;
  std::unique_ptr<Optimizer> (*make)(const OptimizerConfig&);
};

// Every optimizer the config may name.
const std::vector<Entry>& optimizers() {
  static const std::vector<Entry> table = {
      {"sgd", [](const OptimizerConfig& config) { return make_sgd(config); }},
      {"adam", [](const OptimizerConfig& config) { return make_adam(config, false); }},
      {"adamw", [](const OptimizerConfig& config) { return make_adam(config, true); }},
      {"lars", [](const OptimizerConfig& config) { return make_lars(config); }},
      {"lamb", [](const OptimizerConfig& config) { return make_lamb(config); }},
  };
  return table;
}

}  // namespace

std::unique_ptr<Optimizer> make_optimizer(const OptimizerConfig& config) {
  std::vector<std::string> known;
  for (const Entry& entry : optimizers()) {
    if (entry.name == config.name) return entry.make(config);
    known.push_back(entry.name);
  }
  fail(Category::config, "unknown optimizer '{}'; known: {}", config.name, fmt::join(known, ", "));
}

float clip_factor(double norm, double clip_norm) {
  return clip_norm > 0 && norm > clip_norm ? static_cast<float>(clip_norm / norm) : 1.0f;
}

}  // namespace spire
