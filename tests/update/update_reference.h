// Update steps in float64, transcribed from the papers (engine/update/formulas.h names them).
#pragma once
#include <cmath>
#include <vector>

#include "engine/update/optimizer.h"
#include "engine/update/update_pieces.h"

namespace spire {

class OptimizerReference {
 public:
  OptimizerReference(const OptimizerConfig& optimizer, const std::vector<float>& weights)
      : c_(optimizer),
        weights_(weights.begin(), weights.end()),
        m_(weights.size()),
        v_(weights.size()) {}

  // g: gradients of all weights, of which the spans are updated.
  void step(const std::vector<WeightSpan>& spans, const std::vector<double>& g, double lr) {
    ++t_;
    for (const WeightSpan& span : spans) update(span, g, lr);
  }
  const std::vector<double>& weights() const { return weights_; }

 protected:
  static double norm_of(const std::vector<double>& values, FloatRange range) {
    double squares = 0;
    for (auto i = static_cast<size_t>(range.begin); i < static_cast<size_t>(range.end); ++i)
      squares += values[i] * values[i];
    return std::sqrt(squares);
  }

 private:
  void update(const WeightSpan& span, const std::vector<double>& g, double lr) {
    double decay = c_.weight_decay * span.decay;
    lr *= double{span.lr};
    auto begin = static_cast<size_t>(span.range.begin), end = static_cast<size_t>(span.range.end);
    if (c_.name == OptimizerConfig::Name::lars && span.adapts) {
      double weights = norm_of(weights_, span.range);
      double ratio = c_.trust_coefficient * weights / (norm_of(g, span.range) + decay * weights);
      for (size_t i = begin; i < end; ++i) momentum_step(i, g[i], decay, ratio, lr);
    } else if (c_.name == OptimizerConfig::Name::lars || c_.name == OptimizerConfig::Name::sgd) {
      for (size_t i = begin; i < end; ++i) momentum_step(i, g[i], decay, 1, lr);
    } else if (c_.name == OptimizerConfig::Name::lamb) {
      lamb(span, g, decay, lr);
    } else {
      for (size_t i = begin; i < end; ++i) adam(i, g[i], decay, lr);
    }
  }

  void momentum_step(size_t i, double g, double decay, double ratio, double lr) {
    g = ratio * (g + decay * weights_[i]);
    v_[i] = c_.momentum * v_[i] + g;
    weights_[i] -= lr * (c_.nesterov ? g + c_.momentum * v_[i] : v_[i]);
  }

  double direction(size_t i, double g) {
    m_[i] = c_.beta1 * m_[i] + (1 - c_.beta1) * g;
    v_[i] = c_.beta2 * v_[i] + (1 - c_.beta2) * g * g;
    double m = m_[i] / (1 - std::pow(c_.beta1, t_)), v = v_[i] / (1 - std::pow(c_.beta2, t_));
    return m / (std::sqrt(v) + c_.epsilon);
  }

  void adam(size_t i, double g, double decay, double lr) {
    if (c_.name == OptimizerConfig::Name::adamw)
      weights_[i] -= lr * decay * weights_[i];
    else
      g += decay * weights_[i];
    weights_[i] -= lr * direction(i, g);
  }

  void lamb(const WeightSpan& span, const std::vector<double>& g, double decay, double lr) {
    std::vector<double> u(weights_.size());
    for (auto i = static_cast<size_t>(span.range.begin); i < static_cast<size_t>(span.range.end);
         ++i)
      u[i] = direction(i, g[i]) + decay * weights_[i];
    double ratio = span.adapts ? norm_of(weights_, span.range) / norm_of(u, span.range) : 1;
    for (size_t i = 0; i < u.size(); ++i) weights_[i] -= lr * ratio * u[i];
  }

 protected:
  OptimizerConfig c_;
  int t_ = 0;
  std::vector<double> weights_;

 private:
  std::vector<double> m_, v_;
};

// A whole step, with clipping, running statistics and the moving average.
class UpdateReference : public OptimizerReference {
 public:
  UpdateReference(const OptimizerConfig& optimizer, const EmaConfig& ema,
                  const ParameterLayout& layout, const std::vector<float>& weights)
      : OptimizerReference(optimizer, weights), ema_(ema), layout_(layout), average_(weights_) {}

  void step(const std::vector<float>& sums, double lr) {
    std::vector<double> g(sums.begin(), sums.end());
    double norm = norm_of(g, {0, layout_.trained_floats()});
    if (c_.clip_norm > 0 && norm > c_.clip_norm)
      for (double& value : g) value *= c_.clip_norm / norm;
    OptimizerReference::step(weight_spans(c_, layout_), g, lr);
    for (const ParameterEntry& entry : layout_.entries()) {
      if (entry.trained()) continue;
      auto begin = static_cast<size_t>(entry.offset);
      for (size_t i = begin; i < begin + static_cast<size_t>(entry.elements()); ++i)
        weights_[i] = (1 - double{entry.momentum}) * weights_[i] + entry.momentum * sums[i];
    }
    if (ema_.decay == 0) return;
    double decay = average_decay(ema_, t_);
    for (size_t i = 0; i < average_.size(); ++i)
      average_[i] = decay * average_[i] + (1 - decay) * weights_[i];
  }

  const std::vector<double>& average() const { return average_; }  // of what is trained

 private:
  EmaConfig ema_;
  const ParameterLayout& layout_;
  std::vector<double> average_;
};

}  // namespace spire
