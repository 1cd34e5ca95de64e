#include "kernels/ops/softmax_cross_entropy/softmax_cross_entropy.h"

#include <cmath>
#include <limits>

#include <tests/kernels/matrix_views.h>

namespace spire::testing {
namespace {

// The first of the largest elements of a row.
int64_t first_largest(const HostTensor& x, int64_t row) {
  Eigen::Index at = 0;
  matrix_of(x).row(row).maxCoeff(&at);
  return at;
}

constexpr double gradient_scale = 0.125;

// dlogits, loss, correct. in: logits, labels [, other_labels, mix]
// A row's loss is target . (logsumexp - x) + z logsumexp^2, with logsumexp = log sum e^x.
std::vector<HostTensor> cross_entropy_reference(Tensors in,
                                                const SoftmaxCrossEntropyAttributes& attributes) {
  auto smoothing = static_cast<double>(attributes.label_smoothing);
  auto z = static_cast<double>(attributes.z_loss), weight = static_cast<double>(attributes.weight);
  int64_t per = attributes.rows_per_sample;
  auto x = matrix_of(in[0]);
  std::vector<HostTensor> out = {zeros(in[0].shape), zeros({1}), zeros({1})};
  auto dx = matrix_of(out[0]);
  for (int64_t n = 0; n < x.rows(); ++n) {
    int64_t label = static_cast<int64_t>(in[1][n]);
    if (label < 0) continue;  // the row has no label
    double logsumexp = std::log(x.row(n).array().exp().sum());
    int64_t labelled = 0;
    for (int64_t row = n / per * per; row < (n / per + 1) * per; ++row) labelled += in[1][row] >= 0;
    double share = weight / static_cast<double>(labelled);  // of a sample's rows
    int64_t other = in.size() > 2 ? static_cast<int64_t>(in[2][n]) : label;
    double mix = in.size() > 2 ? in[3][n / per] : 1;
    Eigen::ArrayXd target =
        Eigen::ArrayXd::Constant(x.cols(), smoothing / static_cast<double>(x.cols()));
    target[label] += (1 - smoothing) * mix;
    target[other] += (1 - smoothing) * (1 - mix);
    Eigen::ArrayXd below = logsumexp - x.row(n).transpose().array();
    dx.row(n) = ((1 + 2 * z * logsumexp) * (-below).exp() - target) * (share * gradient_scale);
    out[1][0] += (target * below).sum() * share + z * logsumexp * logsumexp * share;
    bool right = first_largest(in[0], n) == (mix >= 0.5 ? label : other);
    out[2][0] += right ? 1 / static_cast<double>(labelled) : 0;
  }
  return out;
}

Input random_labels(int64_t rows, int64_t classes, uint64_t seed) {
  HostTensor label = uniform({rows}, seed, 0, static_cast<double>(classes));
  for (double& l : label.data) l = std::floor(l);
  return labels(label);
}

OpCase loss_case(int64_t rows, int64_t classes, SoftmaxCrossEntropyAttributes attributes,
                 double size) {
  attributes.gradient = true;
  OpCase test;
  test.op = std::make_shared<SoftmaxCrossEntropyOp>(attributes);
  int64_t per = attributes.rows_per_sample;
  test.inputs = {activation(uniform({rows, classes}, 51, -size, size)),
                 random_labels(rows, classes, 52)};
  if (attributes.mixed) {
    test.inputs.push_back(random_labels(rows, classes, 53));
    test.inputs.push_back(statistic(uniform({rows / per}, 54, 0, 1)));
  }
  test.reference = [=](Tensors in) { return cross_entropy_reference(in, attributes); };
  // The sum of a row is fp32, so a row's loss has the relative rounding of fp32, 2^29 times fp64's.
  double in_fp64 = 0x1p29 * static_cast<double>(rows) * (size + std::log(classes));
  double samples = attributes.unlabelled ? static_cast<double>(rows / per) : 0;  // else exact
  double of_lse = 1 + 2 * static_cast<double>(attributes.z_loss) * (size + std::log(classes));
  test.magnitude = [=](Tensors in) {
    std::vector<HostTensor> bound = {zeros(in[0].shape), zeros({1}), zeros({1})};
    for (double& b : bound[0].data) b = 2 * gradient_scale * of_lse;
    bound[1][0] = in_fp64;
    bound[2][0] = samples;
    return bound;
  };
  test.is_loss = true;
  test.differentiable = {1};
  test.step.gradient_scale = static_cast<float>(gradient_scale);
  // e^(x - logsumexp) has the rounding error of its exponent.
  test.floor = 0.02;
#ifndef NDEBUG  // without optimization a row is added up one by one, not in the lanes of a register
  test.value_factor *= 8;
#endif
  return test;
}

// Takes the label of about a third of the rows, and those of all rows of the last sample.
OpCase with_unlabelled_rows(OpCase test, int64_t per) {
  HostTensor& label = test.inputs[1].tensor;
  for (int64_t n = 0; n < std::ssize(label.data); ++n)
    if (n % 3 == 1 || n >= std::ssize(label.data) - per) label[n] = -1;
  return test;
}

SPIRE_OP_TEST(SoftmaxCrossEntropyTest);

TEST_P(SoftmaxCrossEntropyTest, ValuesAndGradients) {
  for (float smoothing : {0.0f, 0.1f}) {
    check_op(loss_case(7, 10, {smoothing}, 4), GetParam());
    check_op(loss_case(3, 1, {smoothing}, 4), GetParam());
    check_op(loss_case(67, 33, {smoothing}, 4), GetParam());
  }
}

// Rows of aligned packs, and of odd widths; on a GPU a warp a row, a block a row.
TEST_P(SoftmaxCrossEntropyTest, ManyClasses) {
  for (int64_t classes : {64, 1001, 1024, 2056, 50257}) {
    OpCase test = loss_case(classes > 5000 ? 2 : 9, classes, {0.1f}, 4);
    test.gradient_samples = 8;
    check_op(test, GetParam());
  }
}

// The padding of the logits' rows has no effect, whatever its width: less than a pack, or more.
TEST_P(SoftmaxCrossEntropyTest, PaddedRows) {
  Environment environment = GetParam();
  environment.padded_rows = true;
  for (int64_t classes : {1, 3, 64, 1001, 2057}) {
    for (SoftmaxCrossEntropyAttributes attributes :
         {SoftmaxCrossEntropyAttributes{}, {0.1f, 1, true}}) {
      OpCase test = loss_case(9, classes, attributes, 4);
      test.gradient_samples = 8;
      check_op(test, environment);
    }
  }
}

// Padding changes no bit if both rows are read in packs.
TEST_P(SoftmaxCrossEntropyTest, PaddingChangesNoBit) {
  Environment padded = GetParam();
  padded.padded_rows = true;
  for (int64_t classes : {64, 2056}) {
    OpCase test = loss_case(5, classes, {0.1f}, 4);
    auto want = run_op(*test.op, test.inputs, GetParam());
    auto got = run_op(*test.op, test.inputs, padded);
    for (size_t i = 0; i < want.size(); ++i) EXPECT_EQ(got[i].data, want[i].data) << i;
  }
}

TEST_P(SoftmaxCrossEntropyTest, ManyRows) {
  check_values(loss_case(5003, 3, {}, 4), GetParam());
}

TEST_P(SoftmaxCrossEntropyTest, SamplesOfManyRowsAndMixedLabels) {
  for (float smoothing : {0.0f, 0.1f}) {
    check_op(loss_case(68, 10, {smoothing, 4}, 4), GetParam());
    check_op(loss_case(35, 3, {smoothing, 1, true}, 4), GetParam());
    check_op(loss_case(36, 20, {smoothing, 4, true}, 4), GetParam());
  }
}

// Rows of label -1 count nowhere: a sample's loss is the mean of its other rows.
TEST_P(SoftmaxCrossEntropyTest, RowsWithoutALabel) {
  for (float smoothing : {0.0f, 0.1f})
    for (int64_t classes : {3, 21})
      for (int64_t per : {1, 5, 300}) {
        SoftmaxCrossEntropyAttributes attributes{
            .label_smoothing = smoothing, .rows_per_sample = per, .unlabelled = true};
        int64_t rows = (per > 100 ? 2 : 4) * per;
        OpCase test = with_unlabelled_rows(loss_case(rows, classes, attributes, 4), per);
        test.gradient_samples = 16;
        check_op(test, GetParam());
      }
}

// Whatever its logits are: a factor of 0 would turn infinite ones into NaN, and others into -0.
TEST_P(SoftmaxCrossEntropyTest, GradientOfAnUnlabelledRowIsZero) {
  constexpr double infinite = std::numeric_limits<double>::infinity();
  SoftmaxCrossEntropyAttributes attributes{
      .rows_per_sample = 2, .unlabelled = true, .gradient = true};
  std::vector<Input> inputs = {activation({{2, 3}, {infinite, 1, -2, 0, 0, 0}}),
                               labels({{2}, {-1, 1}})};
  StepContext step;
  step.gradient_scale = 0.125f;
  auto got = run_op(SoftmaxCrossEntropyOp(attributes), inputs, GetParam(), step);
  EXPECT_NEAR(got[1][0], std::log(3.0), 1e-6);  // of the other row alone
  for (int64_t c = 0; c < 3; ++c) {
    EXPECT_EQ(got[0][c], 0);
    EXPECT_FALSE(std::signbit(got[0][c]));
    EXPECT_NE(got[0][3 + c], 0);
  }
}

// An evaluation has the bits of training's loss and score.
TEST_P(SoftmaxCrossEntropyTest, TheGradientChangesNoOtherOutput) {
  for (int64_t classes : {5, 3000}) {
    OpCase test = loss_case(9, classes, {0.1f}, 4);
    auto with = run_op(*test.op, test.inputs, GetParam());
    auto without = run_op(SoftmaxCrossEntropyOp({0.1f}), test.inputs, GetParam());
    ASSERT_EQ(without.size(), 2u);
    for (size_t i : {0, 1}) EXPECT_EQ(with[i + 1].data, without[i].data) << i;
  }
}

// Where every row has a label, the bits are those of rows that must have one.
TEST_P(SoftmaxCrossEntropyTest, LabelledRowsKeepTheirBits) {
  Input x = activation(uniform({12, 5}, 59)), label = random_labels(12, 5, 60);
  SoftmaxCrossEntropyAttributes plain{.rows_per_sample = 4}, with = plain;
  with.unlabelled = true;
  plain.gradient = with.gradient = true;
  auto want = run_op(SoftmaxCrossEntropyOp(plain), std::vector{x, label}, GetParam());
  auto got = run_op(SoftmaxCrossEntropyOp(with), std::vector{x, label}, GetParam());
  for (size_t i = 0; i < want.size(); ++i) EXPECT_EQ(got[i].data, want[i].data) << i;
}

TEST_P(SoftmaxCrossEntropyTest, ZLoss) {
  SoftmaxCrossEntropyAttributes attributes{.z_loss = 0.25f};
  check_op(loss_case(7, 10, attributes, 4), GetParam());
  attributes.label_smoothing = 0.1f;
  attributes.rows_per_sample = 4;
  attributes.mixed = true;
  check_op(loss_case(36, 20, attributes, 4), GetParam());
  EXPECT_EQ(refusal(SoftmaxCrossEntropyOp({.z_loss = -1}), {f32({2, 3}), {{2}, DType::i32}}),
            "[softmax_cross_entropy] z_loss is -1; it must not be negative");
}

TEST_P(SoftmaxCrossEntropyTest, Weight) {
  SoftmaxCrossEntropyAttributes attributes{.label_smoothing = 0.1f, .weight = 0.3f};
  check_op(loss_case(7, 10, attributes, 4), GetParam());
  attributes.unlabelled = true;
  attributes.rows_per_sample = 4;
  check_op(with_unlabelled_rows(loss_case(16, 10, attributes, 4), 4), GetParam());
  EXPECT_EQ(refusal(SoftmaxCrossEntropyOp({.weight = -1}), {f32({2, 3}), {{2}, DType::i32}}),
            "[softmax_cross_entropy] weight is -1; it must not be negative");
}

// The loss of a sample is the mean of its rows: R equal rows have the loss of one.
TEST_P(SoftmaxCrossEntropyTest, LossOfASampleIsTheMeanOfItsRows) {
  std::vector<Input> one = {activation({{1, 3}, {1, 2, 4}}), labels({{1}, {2}})};
  std::vector<Input> four = {activation({{4, 3}, {1, 2, 4, 1, 2, 4, 1, 2, 4, 1, 2, 4}}),
                             labels({{4}, {2, 2, 2, 0}})};
  auto a = run_op(SoftmaxCrossEntropyOp(), one, GetParam());
  auto b = run_op(SoftmaxCrossEntropyOp({.rows_per_sample = 4}), four, GetParam());
  EXPECT_NEAR(b[0][0], a[0][0] + 0.75, 1e-12);  // one label's logit is 3 lower, a quarter of it
  EXPECT_EQ(b[1][0], 0.75);
}

// A mix of 1 has the bits of the plain form, and so has a label mixed with itself.
TEST_P(SoftmaxCrossEntropyTest, MixOfOneIsThePlainForm) {
  Input x = activation(uniform({6, 5}, 55)), label = random_labels(6, 5, 56);
  Input other = random_labels(6, 5, 57), ones = statistic({{6}, {1, 1, 1, 1, 1, 1}});
  Input some = statistic(uniform({6}, 58, 0, 1));
  SoftmaxCrossEntropyAttributes attributes{.label_smoothing = 0.1f, .gradient = true};
  auto plain = run_op(SoftmaxCrossEntropyOp(attributes), std::vector{x, label}, GetParam());
  attributes.mixed = true;
  for (auto [second, mix] : {std::pair{other, ones}, {label, some}}) {
    auto mixed =
        run_op(SoftmaxCrossEntropyOp(attributes), std::vector{x, label, second, mix}, GetParam());
    for (size_t i = 0; i < plain.size(); ++i) EXPECT_EQ(mixed[i].data, plain[i].data) << i;
  }
}

TEST_P(SoftmaxCrossEntropyTest, MixOutOfRangeMakesTheLossNaN) {
  for (double wrong : {-0.1, 1.5, std::nan("")}) {
    std::vector<Input> inputs = {activation({{1, 3}, {1, 2, 3}}), labels({{1}, {1}}),
                                 labels({{1}, {2}}), statistic({{1}, {wrong}})};
    auto out = run_op(SoftmaxCrossEntropyOp({0, 1, true}), inputs, GetParam());
    EXPECT_TRUE(std::isnan(out[0][0])) << wrong;
  }
}

// Logits whose exponentials overflow, but not those of their differences from the largest.
TEST_P(SoftmaxCrossEntropyTest, LargeLogits) {
  std::vector<Input> inputs = {activation({{2, 3}, {1000, 0, -1000, -512, -512, -512}}),
                               labels({{2}, {1, 0}})};
  auto out = run_op(SoftmaxCrossEntropyOp(), inputs, GetParam());
  EXPECT_NEAR(out[0][0], 1000 + std::log(3.0), 1e-4);
  EXPECT_EQ(out[1][0], 1);
}

// Logits of -infinity have no effect, wherever they are.
TEST_P(SoftmaxCrossEntropyTest, InfinitelySmallLogits) {
  for (int64_t classes : {40, 3000}) {
    HostTensor x = zeros({1, classes});
    for (double& v : x.data) v = -std::numeric_limits<double>::infinity();
    int64_t last = classes - 1;
    x[last - 20] = x[last] = 2;
    std::vector<Input> inputs = {activation(x), labels({{1}, {static_cast<double>(last - 20)}})};
    auto out = run_op(SoftmaxCrossEntropyOp(), inputs, GetParam());
    EXPECT_NEAR(out[0][0], std::log(2.0), 1e-6);
    EXPECT_EQ(out[1][0], 1);
  }
}

TEST_P(SoftmaxCrossEntropyTest, FirstOfEqualLogitsOfManyClasses) {
  for (int64_t classes : {1000, 3000}) {
    HostTensor x = zeros({2, classes});
    for (int64_t c : {257, 258, 900}) x[c] = x[classes + c] = 7;
    std::vector<Input> inputs = {activation(x), labels({{2}, {257, 258}})};
    EXPECT_EQ(run_op(SoftmaxCrossEntropyOp(), inputs, GetParam())[1][0], 1);
  }
}

TEST_P(SoftmaxCrossEntropyTest, FirstOfEqualLogitsWins) {
  std::vector<Input> inputs = {activation({{3, 3}, {1, 1, 0, 1, 1, 0, 0, 2, 2}}),
                               labels({{3}, {0, 1, 1}})};
  EXPECT_EQ(run_op(SoftmaxCrossEntropyOp(), inputs, GetParam())[1][0], 2);
}

TEST_P(SoftmaxCrossEntropyTest, LabelOutOfRangeMakesTheLossNaN) {
  for (double wrong : {-1.0, 3.0, 1e9}) {
    std::vector<Input> inputs = {activation({{2, 3}, {1, 2, 3, 4, 5, 6}}),
                                 labels({{2}, {wrong, 2}})};
    auto out = run_op(SoftmaxCrossEntropyOp({.gradient = true}), inputs, GetParam());
    EXPECT_TRUE(std::isnan(out[1][0]));
    EXPECT_EQ(out[2][0], 1);
    for (double g : out[0].data) EXPECT_TRUE(std::isfinite(g));
  }
}

TEST(SoftmaxCrossEntropyOp, RefusesInputsThatDoNotFit) {
  TensorSpec logits{{4, 10}, DType::f32}, label{{4}, DType::i32}, soft{{4, 10}, DType::f32};
  EXPECT_EQ(SoftmaxCrossEntropyOp().infer(std::vector{logits, label}).size(), 2u);
  EXPECT_EQ(SoftmaxCrossEntropyOp({.gradient = true}).infer(std::vector{logits, label})[0], logits);
  EXPECT_THROW(SoftmaxCrossEntropyOp().infer(std::vector{logits, soft}), Error);
  EXPECT_THROW(SoftmaxCrossEntropyOp().infer(std::vector{label, label}), Error);
  EXPECT_THROW(SoftmaxCrossEntropyOp({1.0f}).infer(std::vector{logits, label}), Error);
  EXPECT_THROW(SoftmaxCrossEntropyOp({0, 3}).infer(std::vector{logits, label}), Error);
  TensorSpec mix{{2}, DType::f32};
  SoftmaxCrossEntropyOp mixed({0, 2, true});
  EXPECT_EQ(mixed.infer(std::vector{logits, label, label, mix}).size(), 2u);
  EXPECT_THROW(mixed.infer(std::vector{logits, label, mix, mix}), Error);
  EXPECT_THROW(mixed.infer(std::vector{logits, label, label, label}), Error);
  EXPECT_THROW(mixed.infer(std::vector{logits, label}), Error);
}

}  // namespace
}  // namespace spire::testing
