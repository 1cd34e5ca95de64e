// Update formulas of the optimizers for one weight, shared by loops on CPUs and kernels on GPUs. A
// formula is a struct with the constants of one step and these functions (at: SliceFactors; slots:
// the weight's optimizer state):
//   slots                         names of the state that each weight has
//   update(at, g, w, slots...)    updates weight w and its slots with gradient g
// Layer-wise optimizers (lars, lamb) scale a tensor's step by a ratio of norms of the whole tensor:
//   prepare(at, g, w, slots...)   updates the slots before the norms are measured
//   measured(at, g, w, slots...)  returns the number whose squares TrustSquares::update sums
//   trust_ratio(squares, decay)   returns the ratio; decay: SliceFactors::decay of the tensor
// In sgd, adam and the moving average each product that is added is a fused multiply-add by name,
// so that compilers for CPUs and for GPUs, which fuse as they like, give the same bits.
#pragma once
#include <array>
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <variant>

#include <spire/tensor.h>

#include "engine/update/loss_scale_rule.h"

namespace spire {

struct TrustSquares {  // sums of squares over a slice, or over a tensor
  double weights = 0;
  double update = 0;  // lars: gradients; lamb: updates before the ratio
};

struct SliceFactors {     // factors for one slice, a contiguous range of the weights
  float gradient = 1.0f;  // of the gradient: GradientScale::factor()
  float decay = 1.0f;     // of weight_decay
  float lr = 1.0f;        // of the learning rate: optimizer.lr_factors
  float trust = 1.0f;     // of the step: the trust ratio
};

// w -= lr (g + weight_decay w)
struct SgdFormula {
  static constexpr std::array<const char*, 0> slots = {};
  float lr, weight_decay;

  SPIRE_HOST_DEVICE void update(const SliceFactors& at, float g, float& w) const {
    float gradient = std::fma(weight_decay * at.decay, w, g * at.gradient);
    w = std::fma(-(lr * at.lr), gradient, w);
  }
};

// g += weight_decay w; v = momentum v + g; w -= lr (nesterov ? g + momentum v : v).
// Sutskever et al., "On the importance of initialization and momentum", ICML 2013, as in PyTorch.
template <bool nesterov>
struct MomentumFormula {
  static constexpr std::array slots = {"momentum"};
  float lr, weight_decay, momentum;

  SPIRE_HOST_DEVICE void update(const SliceFactors& at, float g, float& w, float& v) const {
    float gradient = std::fma(weight_decay * at.decay, w, g * at.gradient);
    float velocity = std::fma(momentum, v, gradient);
    v = velocity;
    w = std::fma(-(lr * at.lr), nesterov ? std::fma(momentum, velocity, gradient) : velocity, w);
  }
};

// Running moments of the gradient, with their bias corrections as factors. A share is 1 - beta in
// fp64, rounded once: 1 - beta of fp32 is 1.4 % off at 0.999999, and 0 at 1 - 1e-8.
struct Moments {
  float share1, share2, epsilon;
  float scale;  // 1 / (1 - beta1^step)
  float root;   // 1 / sqrt(1 - beta2^step)

  static Moments at(int64_t step, double beta1, double beta2, double epsilon) {
    return {.share1 = static_cast<float>(1.0 - beta1),
            .share2 = static_cast<float>(1.0 - beta2),
            .epsilon = epsilon > FLT_MIN ? static_cast<float>(epsilon) : FLT_MIN,  // 0 / 0
            .scale = static_cast<float>(1.0 / correction(step, beta1)),
            .root = static_cast<float>(1.0 / std::sqrt(correction(step, beta2)))};
  }
  // 1 - beta^step, of all digits for a beta close to 1.
  static double correction(int64_t step, double beta) {
    return -std::expm1(static_cast<double>(step) * std::log(beta));
  }

  SPIRE_HOST_DEVICE void add(float gradient, float& m, float& v) const {
    m = std::fma(share1, gradient, std::fma(-share1, m, m));
    const float next = std::fma(share2 * gradient, gradient, std::fma(-share2, v, v));
    v = FLT_MAX < next ? FLT_MAX : next;  // of an infinite one the next step makes NaN; NaN stays
  }
  SPIRE_HOST_DEVICE float spread(float v) const { return std::fma(std::sqrt(v), root, epsilon); }
};

// m = beta1 m + (1 - beta1) g; v = beta2 v + (1 - beta2) g^2; w -= lr m^ / (sqrt(v^) + epsilon),
// where m^ and v^ are m and v with bias correction. adam: g += weight_decay w first (Kingma & Ba
// 2015); adamw: w -= lr weight_decay w first (Loshchilov & Hutter 2019).
template <bool decoupled>  // adamw; a member would keep the loop over weights from vectorizing
struct AdamFormula {
  static constexpr std::array slots = {"m", "v"};
  Moments moments;
  float lr, rate, weight_decay;  // rate: lr / (1 - beta1^step)

  SPIRE_HOST_DEVICE void update(const SliceFactors& at, float g, float& w, float& m,
                                float& v) const {
    const float decay = weight_decay * at.decay, scaled = g * at.gradient;
    moments.add(decoupled ? scaled : std::fma(decay, w, scaled), m, v);
    const float change = rate * at.lr * m / moments.spread(v);
    w -= decoupled ? std::fma(lr * at.lr * decay, w, change) : change;
  }
};

// v = momentum v + ratio (g + weight_decay w); w -= lr v, with ratio = trust_coefficient |w| / (|g|
// + weight_decay |w|) over the tensor; 1 where a norm is 0. You et al., "Large batch training of
// convolutional networks", 2017, but with lr outside the momentum, as in sgd.
struct LarsFormula {
  static constexpr std::array slots = {"momentum"};
  float lr, weight_decay, momentum;
  double trust_coefficient;

  SPIRE_HOST_DEVICE void prepare(const SliceFactors&, float, float, float&) const {}
  SPIRE_HOST_DEVICE float measured(const SliceFactors& at, float g, float, float) const {
    return g * at.gradient;
  }
  SPIRE_HOST_DEVICE float trust_ratio(const TrustSquares& tensor, float decay) const {
    double weights = std::sqrt(tensor.weights), gradient = std::sqrt(tensor.update);
    if (weights == 0 || gradient == 0) return 1.0f;
    double decayed = double{weight_decay} * decay * weights;
    return static_cast<float>(trust_coefficient * weights / (gradient + decayed));
  }
  SPIRE_HOST_DEVICE void update(const SliceFactors& at, float g, float& w, float& v) const {
    v = momentum * v + at.trust * (g * at.gradient + weight_decay * at.decay * w);
    w -= lr * at.lr * v;
  }
};

// u = m^ / (sqrt(v^) + epsilon) + weight_decay w with adam's m and v; w -= lr ratio u, with ratio =
// |w| / |u| over the tensor; 1 where a norm is 0. You et al., "Large batch optimization for deep
// learning", ICLR 2020. prepare() updates m and v; update() computes u from them a second time.
struct LambFormula {
  static constexpr std::array slots = {"m", "v"};
  Moments moments;
  float lr, weight_decay;

  SPIRE_HOST_DEVICE void prepare(const SliceFactors& at, float g, float, float& m, float& v) const {
    moments.add(g * at.gradient, m, v);
  }
  SPIRE_HOST_DEVICE float measured(const SliceFactors& at, float, float w, float m, float v) const {
    return moments.scale * m / moments.spread(v) + weight_decay * at.decay * w;
  }
  SPIRE_HOST_DEVICE float trust_ratio(const TrustSquares& tensor, float) const {
    double weights = std::sqrt(tensor.weights), update = std::sqrt(tensor.update);
    return weights == 0 || update == 0 ? 1.0f : static_cast<float>(weights / update);
  }
  SPIRE_HOST_DEVICE void update(const SliceFactors& at, float g, float& w, float& m,
                                float& v) const {
    w -= lr * at.lr * at.trust * measured(at, g, w, m, v);
  }
};

using OptimizerFormula =
    std::variant<SgdFormula, MomentumFormula<false>, MomentumFormula<true>, AdamFormula<false>,
                 AdamFormula<true>, LarsFormula, LambFormula>;

template <typename Formula>
constexpr bool has_trust_ratio = requires {
  &Formula::trust_ratio;
};

// Returns the factor that limits a gradient with this global norm to clip_norm (0: no limit).
SPIRE_HOST_DEVICE inline float clip_factor(double norm, double clip_norm) {
  return clip_norm > 0 && norm > clip_norm ? static_cast<float>(clip_norm / norm) : 1.0f;
}

struct EmaFormula {  // update of one weight's moving average
  float share;       // 1 - decay

  SPIRE_HOST_DEVICE void update(float weight, float& average) const {
    average = std::fma(share, weight - average, average);
  }
};

// Factor by which an update multiplies gradients: it clips them and divides by the loss scale.
struct GradientScale {
  double clip_norm = 0;
  const LossScaleState* loss_scale = nullptr;  // fp16: the loss was multiplied by its scale

  // Tells whether factor() depends on `squares`.
  bool reads_squares() const { return clip_norm > 0 || loss_scale; }

  // squares: sum of the squares of all gradients, still with the loss scale. Returns a negative
  // number if fp16 gradients are not finite: the update is then skipped.
  SPIRE_HOST_DEVICE float factor(double squares) const {
    double scale = loss_scale ? loss_scale->scale : 1.0;
    double norm = std::sqrt(squares) / scale;
    if (loss_scale && !(norm < HUGE_VAL)) return -1.0f;
    return clip_factor(norm, clip_norm) / static_cast<float>(scale);
  }
};

}  // namespace spire
