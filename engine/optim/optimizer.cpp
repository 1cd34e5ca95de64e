#include "engine/optim/optimizer.h"

#include <fmt/ranges.h>

#include <spire/error.h>

#include "engine/optim/slice_loops.h"

namespace spire::inline optim {
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
  fail(Category::config, "unknown optimizer '{}'; must be one of: {}", config.name,
       fmt::join(known, ", "));
}

namespace {

SliceFactors factors_of(const UpdateStep& step, const UpdateSlice& slice) {
  return {.gradient = step.gradient_factor, .decay = slice.decay, .trust = slice.trust_ratio};
}

}  // namespace

bool Optimizer::layerwise() const {
  return std::visit([]<typename F>(const F&) { return is_layerwise<F>; }, formula({}));
}

TrustSquares Optimizer::measure(const UpdateStep& step, const UpdateSlice& slice) const {
  return std::visit(
      [&]<typename F>(const F& formula) -> TrustSquares {
        if constexpr (is_layerwise<F>)
          return measure_slice(formula, factors_of(step, slice), slice);
        else
          return {};
      },
      formula(step));
}

float Optimizer::trust_ratio(const TrustSquares& tensor, float decay) const {
  return std::visit(
      [&]<typename F>(const F& formula) {
        if constexpr (is_layerwise<F>)
          return formula.trust_ratio(tensor, decay);
        else
          return 1.0f;
      },
      formula({}));
}

void Optimizer::update(const UpdateStep& step, const UpdateSlice& slice) const {
  std::visit([&](const auto& formula) { update_slice(formula, factors_of(step, slice), slice); },
             formula(step));
}

}  // namespace spire::inline optim
