#include "engine/update/optimizer.h"

#include <algorithm>

#include <spire/optimizer.h>

#include "engine/base/fail.h"

namespace spire {

Optimizer::~Optimizer() = default;

namespace {

// Loops of the CPU. They vectorize: __restrict says that nothing overlaps, and a formula is a copy,
// so no store can change its members.

// Calls body(gradient, weight, slot...) for each element; weight and slots are references.
template <size_t slots, typename Body>
void for_weights(const UpdateSlice& slice, const Body body) {
  static_assert(slots <= 2);
  const float* __restrict g = slice.gradients;
  float* __restrict w = slice.weights;
  const int64_t count = slice.count;
  if constexpr (slots == 0) {
    for (int64_t i = 0; i < count; ++i) body(g[i], w[i]);
  } else if constexpr (slots == 1) {
    float* __restrict a = slice.slots[0];
    for (int64_t i = 0; i < count; ++i) body(g[i], w[i], a[i]);
  } else {
    float* __restrict a = slice.slots[0];
    float* __restrict b = slice.slots[1];
    for (int64_t i = 0; i < count; ++i) body(g[i], w[i], a[i], b[i]);
  }
}

template <typename Formula>
void update_weights(const Formula formula, const SliceFactors at, const UpdateSlice& slice) {
  for_weights<Formula::slots.size()>(
      slice, [=](float g, float& w, auto&... slot) { formula.update(at, g, w, slot...); });
}

// Sums the squares of weight(i) and update(i) for i in [0, count): sixteen interleaved partial sums
// each, added up in order, so the result does not depend on the width of the vector registers.
template <typename Weight, typename Update>
TrustSquares sum_trust_squares(int64_t count, Weight&& weight, Update&& update) {
  constexpr int64_t width = 16;
  double weights[width] = {}, updates[width] = {};
  auto add = [&](int64_t i, int64_t lane) {
    double w = weight(i), u = update(i);
    weights[lane] += w * w;
    updates[lane] += u * u;
  };
  int64_t i = 0;  // whole vectors, then the rest
  for (; i + width <= count; i += width) {
    for (int64_t lane = 0; lane < width; ++lane) add(i + lane, lane);
  }
  for (int64_t lane = 0; i < count; ++i, ++lane) add(i, lane);
  TrustSquares sum;
  for (int64_t lane = 0; lane < width; ++lane) {
    sum.weights += weights[lane];
    sum.update += updates[lane];
  }
  return sum;
}

// Two passes: the slots first, as measured() reads them.
template <typename Formula>
TrustSquares measure_weights(const Formula formula, const SliceFactors at,
                             const UpdateSlice& slice) {
  constexpr size_t slots = Formula::slots.size();
  for_weights<slots>(slice,
                     [=](float g, float& w, auto&... slot) { formula.prepare(at, g, w, slot...); });
  const float* __restrict g = slice.gradients;
  const float* __restrict w = slice.weights;
  const float* __restrict a = slice.slots[0];
  const float* __restrict b = slice.slots[slots - 1];  // a once more where there is one
  return sum_trust_squares(
      slice.count, [=](int64_t i) { return w[i]; },
      [=](int64_t i) {
        if constexpr (slots == 1) return formula.measured(at, g[i], w[i], a[i]);
        if constexpr (slots == 2) return formula.measured(at, g[i], w[i], a[i], b[i]);
      });
}

}  // namespace

OptimizerFormula formula_of(const OptimizerConfig& config, float lr, int64_t step) {
  auto decay = static_cast<float>(config.weight_decay);
  auto momentum = static_cast<float>(config.momentum);
  auto moments = [&] { return Moments::at(step, config.beta1, config.beta2, config.epsilon); };
  // Computed in double, and rounded to fp32 once.
  auto rate = [&] { return static_cast<float>(lr / Moments::correction(step, config.beta1)); };
  using Name = OptimizerConfig::Name;
  switch (config.name) {
    case Name::sgd:  // without momentum there is no slot to read and write
      if (momentum == 0.0f) return SgdFormula{lr, decay};
      if (config.nesterov) return MomentumFormula<true>{lr, decay, momentum};
      return MomentumFormula<false>{lr, decay, momentum};
    case Name::adam:
      return AdamFormula<false>{moments(), lr, rate(), decay};
    case Name::adamw:
      return AdamFormula<true>{moments(), lr, rate(), decay};
    case Name::lars:
      return LarsFormula{lr, decay, momentum, config.trust_coefficient};
    case Name::lamb:
      return LambFormula{moments(), lr, decay};
  }
  fail(Category::config, "optimizer.name: unknown optimizer");
}

std::vector<std::string> slot_names(const OptimizerConfig& config) {
  if (config.own) {
    std::vector<std::string> names = config.own->state();
    if (names.size() > max_own_slots)
      fail(Category::config,
           "the program's optimizer keeps {} numbers for each weight; {} are the "
           "most",
           names.size(), max_own_slots);
    for (const std::string& name : names) {
      if (name.empty() || name.find('/') != std::string::npos ||
          std::ranges::count(names, name) > 1)
        fail(Category::config,
             "the program's optimizer: '{}' is no name for what it keeps, or is "
             "given twice",
             name);
    }
    for (std::string& name : names) name.insert(0, "own_");  // none of a built-in optimizer
    return names;
  }
  return std::visit(
      [](const auto& f) { return std::vector<std::string>(f.slots.begin(), f.slots.end()); },
      formula_of(config, 0, 1));
}

size_t slot_count(const OptimizerConfig& config, const EmaConfig& ema) {
  return slot_names(config).size() + (ema.decay > 0 ? 1 : 0);
}

bool is_layerwise(const OptimizerConfig& config) {
  if (config.own) return false;
  return std::visit([]<typename F>(const F&) { return has_trust_ratio<F>; },
                    formula_of(config, 0, 1));
}

void update_slice(const OptimizerFormula& formula, const SliceFactors& at,
                  const UpdateSlice& slice) {
  std::visit([&](const auto& f) { update_weights(f, at, slice); }, formula);
}

TrustSquares measure_slice(const OptimizerFormula& formula, const SliceFactors& at,
                           const UpdateSlice& slice) {
  return std::visit(
      [&]<typename F>(const F& f) -> TrustSquares {
        if constexpr (has_trust_ratio<F>) return measure_weights(f, at, slice);
        return {};
      },
      formula);
}

float trust_ratio(const OptimizerFormula& formula, const TrustSquares& tensor, float decay) {
  return std::visit(
      [&]<typename F>(const F& f) {
        if constexpr (has_trust_ratio<F>) return f.trust_ratio(tensor, decay);
        return 1.0f;
      },
      formula);
}

double average_decay(const EmaConfig& config, int64_t step) {
  if (!config.warmup) return config.decay;
  auto t = static_cast<double>(step);
  // So that the first weights are soon forgotten.
  return std::min(config.decay, (1 + t) / (10 + t));
}

EmaFormula average_formula(const EmaConfig& config, int64_t step) {
  return {static_cast<float>(1 - average_decay(config, step))};
}

void update_average(const EmaFormula& formula, int64_t count, const float* __restrict weights,
                    float* __restrict average) {
  const EmaFormula average_of = formula;  // a copy: no store can change it
  for (int64_t i = 0; i < count; ++i) average_of.update(weights[i], average[i]);
}

}  // namespace spire
