#include "kernels/ops/elementwise/elementwise.h"

#include <cmath>
#include <limits>
#include <numbers>

#include <tests/kernels/matrix_views.h>
#include <tests/kernels/op_test.h>

#include "kernels/ops/elementwise/activation.h"

namespace spire::testing {
namespace {

constexpr double slope = 0.2;

// The definitions, in float64.
Eigen::ArrayXd exact(Activation kind, const Eigen::ArrayXd& x) {
  constexpr double pi = std::numbers::pi;
  switch (kind) {
    case Activation::relu:
      return x.max(0.0);
    case Activation::leaky_relu:
      return (x > 0).select(x, static_cast<double>(0.2f) * x);
    case Activation::gelu:
      return 0.5 * x * (-x / std::sqrt(2.0)).unaryExpr([](double v) { return std::erfc(v); });
    case Activation::gelu_tanh:
      return 0.5 * x * (1 + (std::sqrt(2 / pi) * (x + 0.044715 * x.cube())).tanh());
    case Activation::silu:
      return x / (1 + (-x).exp());
    case Activation::sigmoid:
      return 1 / (1 + (-x).exp());
    case Activation::tanh:
      return x.tanh();
    case Activation::affine:
      return -0.75 * x + 1.5;
    case Activation::exp:
      return x.exp();
    case Activation::log:
      return x.log();
    case Activation::square:
      return x.square();
    case Activation::sqrt:
      return x.sqrt();
    case Activation::abs:
      return x.abs();
  }
  return {};
}

bool needs_positive(Activation kind) {
  return kind == Activation::log || kind == Activation::sqrt;
}

OpCase activation_case(Activation kind, Shape shape) {
  OpCase test(ActivationOp(ActivationAttributes{
                  .kind = kind, .slope = slope, .factor = -0.75f, .offset = 1.5f}),
              {activation(uniform(shape, 11, needs_positive(kind) ? 0.125 : -4, 4))},
              [kind](Tensors in) {
                HostTensor y = in[0];
                array_of(y) = exact(kind, array_of(in[0]));
                return y;
              });
  // Relative to |x|, which also covers 1 - y of a y that was rounded to bf16.
  test.magnitude = [](Tensors in) { return absolute(in); };
  test.floor = 1;
  return test;
}

// Those whose errors are relative to the value itself.
OpCase function_case(Activation kind, Shape shape) {
  OpCase test = activation_case(kind, shape);
  test.magnitude = nullptr;
  // Below 1e-4 fp16 has fewer bits.
  test.floor = kind == Activation::log || kind == Activation::affine ? 1 : 1e-4;
  return test;
}

SPIRE_OP_TEST(ActivationTest);

// A functor against float64, relative to the value itself.
template <typename F>
double worst_error(F f, Activation kind, float low, float high) {
  Eigen::ArrayXf x = Eigen::ArrayXf::LinSpaced(100001, low, high);
  Eigen::ArrayXd got = x.unaryExpr([&](float v) { return f.value(v); }).template cast<double>();
  Eigen::ArrayXd want = exact(kind, x.cast<double>());
  return ((got - want).abs() / want.abs().max(1e-30)).maxCoeff();
}

TEST_P(ActivationTest, ValuesAndGradients) {
  for (Activation kind :
       {Activation::relu, Activation::leaky_relu, Activation::gelu, Activation::gelu_tanh,
        Activation::silu, Activation::sigmoid, Activation::tanh}) {
    SCOPED_TRACE(to_string(kind));
    check_op(activation_case(kind, {3, 5, 7}), GetParam());
  }
}

TEST_P(ActivationTest, ValuesAndGradientsOfFunctions) {
  for (Activation kind : {Activation::affine, Activation::exp, Activation::log, Activation::square,
                          Activation::sqrt, Activation::abs}) {
    SCOPED_TRACE(to_string(kind));
    check_op(function_case(kind, {3, 5, 7}), GetParam());
    check_values(function_case(kind, {4099}), GetParam());
  }
}

// The gradient of |x| is 0 at 0, not a sign of zero.
TEST_P(ActivationTest, AbsHasNoSlopeAtZero) {
  std::vector<Input> in = {activation({{3}, {1, 1, 1}}), activation({{3}, {0, 2, -2}})};
  auto dx = run_op(ActivationBackwardOp({Activation::abs}), in, GetParam())[0];
  EXPECT_EQ(dx.data, (std::vector<double>{0, 1, -1}));
}

// Several blocks of work, so that two threads share it, and a part of one.
TEST_P(ActivationTest, ValuesOfManyElements) {
  check_values(activation_case(Activation::relu, {3, 4099}), GetParam());
  check_values(activation_case(Activation::gelu, {3, 4099}), GetParam());
}

TEST(ActivationFunctors, HaveTheRelativeErrorOfSinglePrecision) {
  EXPECT_LT(worst_error(Gelu{}, Activation::gelu, -9, 9), 5e-6);  // half of it is e^(-x^2/2) at 9
  EXPECT_LT(worst_error(Gelu{}, Activation::gelu, -3, 3), 1e-6);
  EXPECT_LT(worst_error(Sigmoid{}, Activation::sigmoid, -80, 80), 5e-7);
  EXPECT_LT(worst_error(Tanh{}, Activation::tanh, -12, 12), 5e-7);
  EXPECT_LT(worst_error(Tanh{}, Activation::tanh, -1e-4f, 1e-4f), 5e-7);
  EXPECT_LT(worst_error(Exp{}, Activation::exp, -87, 88), 5e-7);
  EXPECT_LT(worst_error(Log{}, Activation::log, 0.5f, 1.5f), 3e-7);
  EXPECT_LT(worst_error(Log{}, Activation::log, 1e-37f, 1e38f), 3e-7);
}

TEST(ActivationFunctors, LogOfTheSmallestAndOfWhatHasNone) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  float smallest = std::numeric_limits<float>::denorm_min();
  EXPECT_FLOAT_EQ(Log{}.value(smallest), static_cast<float>(-149 * std::numbers::ln2));
  EXPECT_EQ(Log{}.value(1.0f), 0.0f);
  EXPECT_EQ(Log{}.value(0.0f), -infinity);
  EXPECT_EQ(Log{}.value(-0.0f), -infinity);
  EXPECT_EQ(Log{}.value(infinity), infinity);
  EXPECT_TRUE(std::isnan(Log{}.value(-1.0f)));
  EXPECT_TRUE(std::isnan(Log{}.value(-infinity)));
}

TEST(ActivationFunctors, ExpEndsAtZeroAndInfinity) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(Exp{}.value(-88.0f), 0.0f);
  EXPECT_EQ(Exp{}.value(-infinity), 0.0f);
  EXPECT_EQ(Exp{}.value(89.0f), infinity);
  EXPECT_EQ(Exp{}.value(infinity), infinity);
  EXPECT_EQ(Exp{}.value(0.0f), 1.0f);
}

// Arguments far beyond those where e^x overflows.
TEST(ActivationFunctors, SaturateWithoutOverflow) {
  constexpr float huge = std::numeric_limits<float>::max();
  EXPECT_EQ(Sigmoid{}.value(huge), 1.0f);
  EXPECT_NEAR(Sigmoid{}.value(-huge), 0.0f, 1e-37f);
  EXPECT_EQ(Tanh{}.value(huge), 1.0f);
  EXPECT_EQ(Tanh{}.value(-huge), -1.0f);
  EXPECT_EQ(Gelu{}.value(100.0f), 100.0f);
  EXPECT_NEAR(Gelu{}.value(-100.0f), 0.0f, 1e-35f);
  EXPECT_EQ(GeluTanh{}.value(100.0f), 100.0f);
}

TEST(ActivationFunctors, KeepNaN) {
  float nan = std::numeric_limits<float>::quiet_NaN();
  for (Activation kind :
       {Activation::relu, Activation::leaky_relu, Activation::gelu, Activation::gelu_tanh,
        Activation::silu, Activation::sigmoid, Activation::tanh, Activation::affine,
        Activation::exp, Activation::log, Activation::square, Activation::sqrt, Activation::abs}) {
    with_activation({.kind = kind, .slope = 0.1f},
                    [&](auto f) { EXPECT_TRUE(std::isnan(f.value(nan))); });
  }
}

TEST(ActivationFunctors, ReluHasNoSlopeAtZero) {
  EXPECT_EQ(Relu{}.gradient(3.0f, Relu{}.value(0.0f)), 0.0f);
  EXPECT_EQ(Relu{}.gradient(3.0f, Relu{}.value(1e-30f)), 3.0f);
}

TEST(ActivationOp, RefusesWhatItCannotCompute) {
  ActivationOp relu({Activation::relu});
  EXPECT_EQ(relu.name(), "relu");
  std::vector<TensorSpec> labels = {{{4}, DType::i32}};
  EXPECT_THROW(relu.infer(labels), Error);
  std::vector<TensorSpec> two(2, {{4}, DType::f32});
  EXPECT_THROW(relu.infer(two), Error);
  std::vector<TensorSpec> one(1, {{4}, DType::f32});
  EXPECT_THROW(ActivationOp({Activation::leaky_relu, -0.5f}).infer(one), Error);
}

// y = f(a, b), rounded once; the gradient as well, unless said otherwise.
template <typename SomeOp>
OpCase binary_case(const SomeOp& op, double (*f)(double, double), Shape shape) {
  OpCase test(op, {activation(uniform(shape, 81)), activation(uniform(shape, 82))},
              [f](Tensors in) {
                HostTensor y = in[0];
                for (int64_t i = 0; i < y.size(); ++i) y[i] = f(in[0][i], in[1][i]);
                return y;
              });
  test.value_factor = test.gradient_factor = 1;
  test.gradient_samples = 40;
  return test;
}

class BinaryTest : public OpTest {
 protected:
  // The second shape is shared by two threads and fills no last register.
  template <typename SomeOp>
  void check(const SomeOp& op, double (*f)(double, double)) {
    for (Shape shape : {Shape{3, 5, 7}, Shape{3, 4099}})
      check_op(binary_case(op, f, shape), GetParam());
  }
};

class AddTest : public BinaryTest {};

TEST_P(AddTest, ValuesAndGradients) {
  check(AddOp(), [](double a, double b) { return a + b; });
}

TEST_P(AddTest, ValuesAndGradientsThroughRelu) {
  OpCase test =
      binary_case(AddOp(true), [](double a, double b) { return std::max(a + b, 0.0); }, {3, 5, 7});
  check_op(test, GetParam());
}

TEST_P(BinaryTest, Multiply) {
  check(MulOp(), [](double a, double b) { return a * b; });
}

TEST_P(BinaryTest, Subtract) {
  check(SubOp(), [](double a, double b) { return a - b; });
}

TEST_P(BinaryTest, Divide) {
  for (Shape shape : {Shape{3, 5, 7}, Shape{4097}}) {
    OpCase test = binary_case(
        DivOp(), [](double a, double b) { return a / b; }, shape);
    test.inputs[1] = activation(uniform(shape, 83, 0.5, 2));
    test.gradient_factor = 4;  // the gradient by b rounds the quotients first
    check_op(test, GetParam());
  }
}

SPIRE_TEST_EVERYWHERE(AddTest);
SPIRE_TEST_EVERYWHERE(BinaryTest);

// The graph fuses a relu into the sum before it.
TEST(AddOp, TakesOneReluAndNoMore) {
  AddOp add;
  auto fused = add.with_relu();
  ASSERT_TRUE(fused);
  EXPECT_TRUE(static_cast<const AddOp&>(*fused).relu());
  EXPECT_EQ(fused->with_relu(), nullptr);
}

TEST(AddOp, RefusesOperandsThatDiffer) {
  std::vector<TensorSpec> shapes = {{{2, 3}, DType::f32}, {{3, 2}, DType::f32}};
  EXPECT_THROW(AddOp().infer(shapes), Error);
  std::vector<TensorSpec> dtypes = {{{2, 3}, DType::f32}, {{2, 3}, DType::bf16}};
  EXPECT_THROW(AddOp().infer(dtypes), Error);
}

TEST(MulOp, RefusesOperandsThatDiffer) {
  EXPECT_THROW(MulOp().infer(std::vector<TensorSpec>{{{2, 3}, DType::f32}, {{3}, DType::f32}}),
               Error);
  EXPECT_THROW(MulOp().infer(std::vector<TensorSpec>(2, {{3}, DType::i32})), Error);
}

TEST(BinaryOps, NameWhatTheyCannotDo) {
  EXPECT_EQ(refusal(SubOp(), {f32({2, 3}), f32({3})}),
            "[sub] cannot subtract fp32 (2, 3) and fp32 (3)");
  EXPECT_EQ(refusal(DivOp(), {f32({2, 3}), f32({3})}),
            "[div] cannot divide fp32 (2, 3) and fp32 (3)");
}

SPIRE_OP_TEST(CastTest);

OpCase cast_case(Input x, DType to) {
  OpCase test(CastOp(to), {std::move(x)}, [](Tensors in) { return in[0]; });
  test.value_factor = test.gradient_factor = 1;  // one rounding
  return test;
}

// From the run's dtype to fp32 and from fp32 to the run's.
TEST_P(CastTest, RoundsOnceEachWay) {
  for (Shape shape : {Shape{3, 5, 7}, Shape{4099}}) {
    check_op(cast_case(activation(uniform(shape, 91)), DType::f32), GetParam());
    OpCase down = cast_case(statistic(uniform(shape, 92)), GetParam().dtype);
    check_values(down, GetParam());
  }
}

// The gradient by fp32 numbers keeps the bits of dy.
TEST_P(CastTest, GradientHasTheInputsType) {
  OpCase test = cast_case(parameter(uniform({40}, 93)), GetParam().dtype);
  test.gradient_factor = 0.01;  // of fp32's rounding: beside it the differences' own error
  check_gradient(test, GetParam());
}

TEST(CastOp, ConvertsNumbersOnly) {
  EXPECT_EQ(refusal(CastOp(DType::f32), {{{4}, DType::i32}}),
            "[cast] converts between fp32, bf16 and fp16, not int32 (4) to fp32");
  EXPECT_EQ(refusal(CastOp(DType::f64), {f32({4})}),
            "[cast] converts between fp32, bf16 and fp16, not fp32 (4) to fp64");
}

// y = g / (1 + e^-g) u, of the first and the last half of the columns.
std::vector<HostTensor> gated(Tensors in) {
  auto x = matrix_of(in[0]).array();
  int64_t width = x.cols() / 2;
  Shape shape = in[0].shape;
  shape[shape.rank() - 1] = width;
  std::vector<HostTensor> out = {zeros(shape)};
  auto g = x.leftCols(width);
  matrix_of(out[0]).array() = g / (1 + (-g).exp()) * x.rightCols(width);
  return out;
}

OpCase swiglu_case(Shape shape) {
  OpCase test(SwigluOp(), {activation(uniform(shape, 341, -4, 4))}, gated);
  test.floor = 1;
  return test;
}

SPIRE_OP_TEST(SwigluTest);

// Rows of whole packs, of whole registers, and of neither.
TEST_P(SwigluTest, ValuesAndGradients) {
  for (Shape shape : {Shape{3, 10}, Shape{2, 7, 64}, Shape{5, 16}, Shape{2, 3, 2, 78}, Shape{150}})
    check_op(swiglu_case(shape), GetParam());
}

TEST_P(SwigluTest, ValuesOfManyRows) {
  check_values(swiglu_case({700, 34}), GetParam());
}

TEST(SwigluOp, RefusesInputsThatDoNotFit) {
  EXPECT_EQ(SwigluOp().infer(std::vector{f32({4, 10})})[0], f32({4, 5}));
  EXPECT_EQ(
      refusal(SwigluOp(), {f32({4, 9})}),
      "[swiglu] takes as many gates as values (.., 2F) of fp32, bf16 or fp16, got fp32 (4, 9)");
  EXPECT_EQ(refusal(SwigluBackwardOp(), {f32({4, 10}), f32({4, 10})}),
            "[swiglu_backward] takes dy fp32 (4, 5), got fp32 (4, 10)");
}

}  // namespace
}  // namespace spire::testing
