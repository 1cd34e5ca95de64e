// Elementwise functions of one tensor, y = f(x), and their gradients dx = dy * f'. They are
// activations and the functions of which losses are made. Each formula is written once, as a
// functor for host and device. x and y have any shape and are fp32, bf16 or fp16.
#pragma once
#include <cmath>
#include <limits>

#include <spire/op.h>

#include "kernels/elementary.h"

namespace spire {

// gelu is x Phi(x), gelu_tanh its tanh form (Hendrycks & Gimpel, "Gaussian Error Linear Units");
// silu, from the same paper, is x logistic(x).
// affine is factor * x + offset.
enum class Activation {
  relu,
  leaky_relu,
  gelu,
  gelu_tanh,
  silu,
  sigmoid,
  tanh,
  affine,
  exp,
  log,
  square,
  sqrt,
  abs
};
std::string_view to_string(Activation activation);

struct ActivationAttributes {
  Activation kind = Activation::relu;
  // leaky_relu: f(x) = slope * x for x < 0; not negative: the backward reads the sign of x in y
  float slope = 0.01f;
  float factor = 1.0f, offset = 0.0f;  // of affine
};

// inputs: x. outputs: y, of x's shape and dtype. The kind is the name: "relu", "gelu", ...
class ActivationOp : public OpWith<ActivationAttributes> {
 public:
  using OpWith::OpWith;

  std::string_view name() const override { return spire::to_string(attributes_.kind); }
  std::vector<TensorSpec> infer(TensorSpecs inputs) const override;
  void gradient(GradientBuilder& builder) const override;
  bool may_overwrite(int) const override { return true; }
};

// inputs: dy, v. outputs: dx. v is y where f' can be computed from y (relu, leaky_relu, sigmoid,
// tanh, exp, sqrt), else x. affine has no backward op: its gradient is another affine.
class ActivationBackwardOp : public OpWith<ActivationAttributes> {
 public:
  using OpWith::OpWith;

  std::string_view name() const override;  // "relu_backward"
  std::vector<TensorSpec> infer(TensorSpecs inputs) const override;
  bool may_overwrite(int) const override { return true; }
};

// For a fused op that ends with a relu: emits the gradient before that relu, from `dy`, the
// gradient of the op's output 0. builder: of the fused op.
Value through_relu(GradientBuilder& builder, Value dy);

// The functors: value(x) is f(x), and NaN for NaN; gradient(dy, v) is dy * f', with the v of
// ActivationBackwardOp (relu's is 0 where y is NaN). V is float or a vector of floats.
struct Relu {
  template <typename V>
  SPIRE_HOST_DEVICE V value(V x) const {
    return x < 0 ? V{} : x;
  }
  template <typename V>
  SPIRE_HOST_DEVICE V gradient(V dy, V y) const {
    return y > 0 ? dy : V{};
  }
};

struct LeakyRelu {
  float slope;
  template <typename V>
  SPIRE_HOST_DEVICE V value(V x) const {
    return x < 0 ? slope * x : x;
  }
  template <typename V>
  SPIRE_HOST_DEVICE V gradient(V dy, V y) const {
    return y > 0 ? dy : slope * dy;
  }
};

struct Gelu {
  SPIRE_HOST_DEVICE float value(float x) const { return x * normal(x).below; }
  SPIRE_HOST_DEVICE float gradient(float dy, float x) const {
    Normal n = normal(x);
    return dy * (n.below + x * n.density);
  }
};

// Uses that (1 + tanh u) / 2 = logistic(2 u), with u = sqrt(2 / pi) (x + 0.044715 x^3).
struct GeluTanh {
  SPIRE_HOST_DEVICE float gate(float x) const {
    return logistic(1.59576912f * (x + 0.044715f * x * x * x));
  }
  SPIRE_HOST_DEVICE float value(float x) const { return x * gate(x); }
  SPIRE_HOST_DEVICE float gradient(float dy, float x) const {
    float g = gate(x);
    return dy * (g + x * g * (1.0f - g) * 1.59576912f * (1.0f + 0.134145f * x * x));
  }
};

struct Silu {
  template <typename V>
  SPIRE_HOST_DEVICE static V gate(V x) {
    return 1.0f / (1.0f + exponential(-x));
  }
  template <typename V>
  SPIRE_HOST_DEVICE V value(V x) const {
    return x * gate(x);
  }
  template <typename V>
  SPIRE_HOST_DEVICE V gradient(V dy, V x) const {
    V g = gate(x);
    return dy * (g + x * g * (1.0f - g));
  }
};

struct Sigmoid {
  SPIRE_HOST_DEVICE float value(float x) const { return logistic(x); }
  SPIRE_HOST_DEVICE float gradient(float dy, float y) const { return dy * y * (1.0f - y); }
};

struct Tanh {
  SPIRE_HOST_DEVICE float value(float x) const { return hyperbolic_tangent(x); }
  SPIRE_HOST_DEVICE float gradient(float dy, float y) const { return dy * (1.0f - y * y); }
};

struct Affine {
  float factor, offset;
  // Fused by name, so that it is one rounding everywhere (docs/numerics.md#exact-sums).
  SPIRE_HOST_DEVICE float value(float x) const { return std::fma(factor, x, offset); }
  template <typename V>
  V value(V x) const {
    for (size_t i = 0; i < sizeof(V) / sizeof(float); ++i) x[i] = std::fma(factor, x[i], offset);
    return x;
  }
  template <typename V>
  SPIRE_HOST_DEVICE V gradient(V dy, V) const {
    return factor * dy;
  }
};

// Its value is 0 for x < -87 and infinity for x > 88.
struct Exp {
  template <typename V>
  SPIRE_HOST_DEVICE V value(V x) const {
    V y = x < -87.0f ? V{} : exponential(x);
    return x > 88.0f ? V{} + std::numeric_limits<float>::infinity() : y;
  }
  template <typename V>
  SPIRE_HOST_DEVICE V gradient(V dy, V y) const {
    return dy * y;
  }
};

struct Log {
  SPIRE_HOST_DEVICE float value(float x) const { return natural_logarithm(x); }
  SPIRE_HOST_DEVICE float gradient(float dy, float x) const { return dy / x; }
};

struct Square {
  template <typename V>
  SPIRE_HOST_DEVICE V value(V x) const {
    return x * x;
  }
  template <typename V>
  SPIRE_HOST_DEVICE V gradient(V dy, V x) const {
    return 2.0f * x * dy;
  }
};

// The gradient is infinite at 0.
struct Sqrt {
  SPIRE_HOST_DEVICE float value(float x) const { return std::sqrt(x); }
  SPIRE_HOST_DEVICE float gradient(float dy, float y) const { return 0.5f * dy / y; }
};

// The gradient is 0 at 0.
struct Abs {
  template <typename V>
  SPIRE_HOST_DEVICE V value(V x) const {
    return x < 0 ? -x : x;
  }
  template <typename V>
  SPIRE_HOST_DEVICE V gradient(V dy, V x) const {
    V rest = x < 0 ? -dy : x;  // x: 0 or NaN
    return x > 0 ? dy : rest;
  }
};

[[noreturn]] void refuse_activation();  // throws Error(unexpected)

// Calls visit(functor) with the functor of `attributes`.
template <typename Visit>
decltype(auto) with_activation(const ActivationAttributes& attributes, const Visit& visit) {
  switch (attributes.kind) {
    case Activation::relu:
      return visit(Relu{});
    case Activation::leaky_relu:
      return visit(LeakyRelu{attributes.slope});
    case Activation::gelu:
      return visit(Gelu{});
    case Activation::gelu_tanh:
      return visit(GeluTanh{});
    case Activation::silu:
      return visit(Silu{});
    case Activation::sigmoid:
      return visit(Sigmoid{});
    case Activation::tanh:
      return visit(Tanh{});
    case Activation::affine:
      return visit(Affine{attributes.factor, attributes.offset});
    case Activation::exp:
      return visit(Exp{});
    case Activation::log:
      return visit(Log{});
    case Activation::square:
      return visit(Square{});
    case Activation::sqrt:
      return visit(Sqrt{});
    case Activation::abs:
      return visit(Abs{});
  }
  refuse_activation();
}

// f and f' as functors of one float, or of a vector of floats if F takes vectors.
template <typename F>
struct ValueOf {
  F f;
  template <typename V>
  SPIRE_HOST_DEVICE auto operator()(V x) const -> decltype(f.value(x)) {
    return f.value(x);
  }
};

template <typename F>
struct GradientOf {
  F f;
  template <typename V>
  SPIRE_HOST_DEVICE auto operator()(V dy, V v) const -> decltype(f.gradient(dy, v)) {
    return f.gradient(dy, v);
  }
};

template <typename Visit>
auto with_functor(const ActivationOp& op, const Visit& visit) {
  return with_activation(op.attributes(), [&](auto f) { return visit(ValueOf<decltype(f)>{f}); });
}

template <typename Visit>
auto with_functor(const ActivationBackwardOp& op, const Visit& visit) {
  return with_activation(op.attributes(),
                         [&](auto f) { return visit(GradientOf<decltype(f)>{f}); });
}

}  // namespace spire
