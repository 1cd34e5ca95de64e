#include "engine/update/optimizer.h"

#include <algorithm>

#include <spire/error.h>

namespace spire::inline update {
namespace {

// The classes choose a formula and its rates for a step; the formulas are in formulas.h.

class Sgd final : public Optimizer {
 public:
  explicit Sgd(const OptimizerConfig& config)
      : momentum_(static_cast<float>(config.momentum)),
        decay_(static_cast<float>(config.weight_decay)),
        nesterov_(config.nesterov) {}

  std::vector<std::string> slots() const override {
    return momentum_ == 0.0f ? std::vector<std::string>{} : std::vector<std::string>{"momentum"};
  }

  OptimizerFormula formula(const UpdateStep& step) const override {
    // Without momentum there is no slot to read and write.
    if (momentum_ == 0.0f) return SgdFormula{.lr = step.lr, .weight_decay = decay_};
    if (nesterov_) return MomentumFormula<true>{step.lr, decay_, momentum_};
    return MomentumFormula<false>{step.lr, decay_, momentum_};
  }

 private:
  float momentum_, decay_;
  bool nesterov_;
};

template <bool decoupled_decay>
class Adam final : public Optimizer {
 public:
  explicit Adam(const OptimizerConfig& config) : config_(config) {}

  std::vector<std::string> slots() const override { return {"m", "v"}; }

  OptimizerFormula formula(const UpdateStep& step) const override {
    return AdamFormula<decoupled_decay>{
        .moments = Moments::at(step.step, config_.beta1, config_.beta2, config_.epsilon),
        .lr = step.lr,
        // Computed in double, and rounded to fp32 once.
        .rate = static_cast<float>(step.lr / Moments::correction(step.step, config_.beta1)),
        .weight_decay = static_cast<float>(config_.weight_decay)};
  }

 private:
  OptimizerConfig config_;
};

class Lars final : public Optimizer {
 public:
  explicit Lars(const OptimizerConfig& config) : config_(config) {}

  std::vector<std::string> slots() const override { return {"momentum"}; }

  OptimizerFormula formula(const UpdateStep& step) const override {
    return LarsFormula{.lr = step.lr,
                       .weight_decay = static_cast<float>(config_.weight_decay),
                       .momentum = static_cast<float>(config_.momentum),
                       .trust_coefficient = config_.trust_coefficient};
  }

 private:
  OptimizerConfig config_;
};

class Lamb final : public Optimizer {
 public:
  explicit Lamb(const OptimizerConfig& config) : config_(config) {}

  std::vector<std::string> slots() const override { return {"m", "v"}; }

  OptimizerFormula formula(const UpdateStep& step) const override {
    return LambFormula{
        .moments = Moments::at(step.step, config_.beta1, config_.beta2, config_.epsilon),
        .lr = step.lr,
        .weight_decay = static_cast<float>(config_.weight_decay)};
  }

 private:
  OptimizerConfig config_;
};

// Loops of the CPU. They vectorize: __restrict says that nothing overlaps, and a formula is a copy,
// so no store can change its members.

// Calls body(gradient, weight, slot...) for each element; weight and slots are references.
template <int slots, typename Body>
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
void update_slice(const Formula formula, const SliceFactors at, const UpdateSlice& slice) {
  for_weights<Formula::slots>(
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
TrustSquares measure_slice(const Formula formula, const SliceFactors at, const UpdateSlice& slice) {
  for_weights<Formula::slots>(
      slice, [=](float g, float& w, auto&... slot) { formula.prepare(at, g, w, slot...); });
  const float* __restrict g = slice.gradients;
  const float* __restrict w = slice.weights;
  const float* __restrict a = slice.slots[0];
  const float* __restrict b = slice.slots[Formula::slots - 1];  // a once more where there is one
  return sum_trust_squares(
      slice.count, [=](int64_t i) { return w[i]; },
      [=](int64_t i) {
        if constexpr (Formula::slots == 1) return formula.measured(at, g[i], w[i], a[i]);
        if constexpr (Formula::slots == 2) return formula.measured(at, g[i], w[i], a[i], b[i]);
      });
}

SliceFactors factors_of(float gradient_factor, const UpdateSlice& slice) {
  return {.gradient = gradient_factor,
          .decay = slice.decay,
          .lr = slice.lr,
          .trust = slice.trust_ratio};
}

}  // namespace

// The type of the formula decides, at compile time: the step's numbers do not matter.
bool Optimizer::layerwise() const {
  return std::visit([]<typename F>(const F&) { return is_layerwise<F>; }, formula({}));
}

TrustSquares Optimizer::measure(const UpdateStep& step, const UpdateSlice& slice) const {
  return std::visit(
      [&]<typename F>(const F& formula) -> TrustSquares {
        if constexpr (is_layerwise<F>)
          return measure_slice(formula, factors_of(step.gradient_factor, slice), slice);
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

void Optimizer::update(const OptimizerFormula& formula, float gradient_factor,
                       const UpdateSlice& slice) {
  std::visit([&](const auto& f) { update_slice(f, factors_of(gradient_factor, slice), slice); },
             formula);
}

std::unique_ptr<Optimizer> make_optimizer(const OptimizerConfig& config) {
  using Name = OptimizerConfig::Name;
  switch (config.name) {
    case Name::sgd:
      return std::make_unique<Sgd>(config);
    case Name::adam:
      return std::make_unique<Adam<false>>(config);
    case Name::adamw:
      return std::make_unique<Adam<true>>(config);
    case Name::lars:
      return std::make_unique<Lars>(config);
    case Name::lamb:
      return std::make_unique<Lamb>(config);
  }
  fail(Category::config, "optimizer.name: unknown optimizer");
}

double Ema::decay(int64_t step) const {
  if (!config_.warmup) return config_.decay;
  auto t = static_cast<double>(step);
  return std::min(config_.decay,
                  (1 + t) / (10 + t));  // so that the first weights are soon forgotten
}

void Ema::update(int64_t step, int64_t count, const float* __restrict weights,
                 float* __restrict average) const {
  const EmaFormula average_of = formula(step);
  for (int64_t i = 0; i < count; ++i) average_of.update(weights[i], average[i]);
}

}  // namespace spire::inline update
