// Tests of the ops of batch normalization with one tower, against float64, central differences
// through the whole chain, and of the sync form by the bits of the plain one.
#include <tests/kernels/eager.h>
#include <tests/kernels/ops/batch_norm_reference.h>

#include "kernels/ops/elementwise/elementwise.h"
#include "kernels/ops/reduce/reduce.h"

namespace spire::testing {
namespace {

// The tensor as the kernel reads it.
HostTensor rounded(const HostTensor& tensor, const Environment& environment) {
  return download(upload(tensor, environment.dtype, false));
}

HostTensor total_moments(const HostTensor& x, const Environment& environment) {
  std::vector<Input> inputs = {activation(x)};
  inputs = {sums(run_op(BatchNormMomentsOp(), inputs, environment)[0])};
  return run_op(TowerSumOp(), inputs, environment)[0];
}

// x, gamma, beta, running_var [, residual]: the reference takes the moments from x, so that its
// differences are those of the whole chain.
std::vector<HostTensor> without_moments(Tensors in, bool sync) {
  std::vector<HostTensor> rest(in.begin(), in.end());
  if (sync) rest.erase(rest.begin() + 4);
  return rest;
}

OpCase train_case(BatchNormAttributes attributes, HostTensor x, const Environment& environment) {
  OpCase test;
  Shape channels{x.shape.back()};
  if (attributes.sync) x = rounded(x, environment);
  test.op = std::make_shared<BatchNormOp>(attributes);
  test.inputs = {activation(x), parameter(uniform(channels, 32, 0.5, 1.5)),
                 parameter(uniform(channels, 33)), statistic(uniform(channels, 38, 0.1, 2))};
  if (attributes.sync) test.inputs.push_back(sums(total_moments(x, environment)));
  if (attributes.residual) test.inputs.push_back(activation(uniform(x.shape, 34)));
  test.step.tower_weight = 0.25f;
  test.reference = [attributes](Tensors in) {
    return train_reference(without_moments(in, attributes.sync), attributes, 0.25);
  };
  test.magnitude = [attributes](Tensors in) {
    return train_magnitude(without_moments(in, attributes.sync), attributes, 0.25);
  };
  test.kink_share = attributes.sync ? 0.2 : 0.02;
  test.value_factor = 8;  // fp32 sums of a block's lanes, over 256 terms
  if (attributes.sync) test.gradient_samples = 40;
  return test;
}

OpCase moments_case(HostTensor x) {
  OpCase test(BatchNormMomentsOp(), {activation(std::move(x))}, [](Tensors in) {
    int64_t channels = in[0].shape.back();
    HostTensor sums = zeros({2 * channels + 1});
    for (int64_t i = 0; i < in[0].size(); ++i) {
      sums[i % channels] += in[0][i];
      sums[channels + i % channels] += in[0][i] * in[0][i];
    }
    sums[2 * channels] = static_cast<double>(in[0].size() / channels);
    return sums;
  });
  // The count is exact.
  test.magnitude = [reference = test.reference](Tensors in) {
    auto sizes = reference(absolute(in));
    sizes[0].data.back() = 0;
    return sizes;
  };
  test.value_factor = 8 * 0x1p29;  // fp64 sums of a block's fp32 sums
  return test;
}

SPIRE_OP_TEST(BatchNormTest);

// Results of one form of the op: outputs, and the gradients of x, gamma, beta [, residual].
std::vector<DeviceTensor> run_form(const Op& op, std::vector<DeviceTensor> inputs,
                                   std::vector<int> trained, const DeviceTensor& dy,
                                   const Environment& environment) {
  StepContext step{.tower_weight = 0.5f};
  std::vector<bool> wants(inputs.size(), false);
  for (int i : trained) wants[static_cast<size_t>(i)] = true;
  auto results = execute(op, inputs, environment, step);
  EagerBuilder builder(std::move(inputs), wants, results, {{0, dy}}, environment, step);
  op.gradient(builder);
  for (int i : trained) results.push_back(*builder.gradient(i));
  return results;
}

void expect_bits_of_the_plain_form(BatchNormAttributes form, const Shape& shape,
                                   const Environment& environment) {
  auto vector = [&](uint64_t seed) {
    return upload(uniform({shape.back()}, seed, 0.1, 1.5), DType::f32, true, environment.device);
  };
  auto image = [&](uint64_t seed) {
    return upload(uniform(shape, seed, -1, 2), environment.dtype, false, environment.device);
  };
  std::vector<DeviceTensor> plain = {image(1), vector(2), vector(3), vector(6)};
  std::vector<DeviceTensor> sync = plain;
  auto moments = execute(BatchNormMomentsOp(), {plain.data(), 1}, environment, {});
  sync.push_back(execute(TowerSumOp(), moments, environment, {})[0]);
  std::vector<int> plain_trained = {0, 1, 2}, sync_trained = {0, 1, 2};
  if (form.residual) {
    for (auto* inputs : {&plain, &sync}) inputs->push_back(image(4));
    plain_trained.push_back(4);
    sync_trained.push_back(5);
  }
  DeviceTensor dy = image(5);
  auto want = run_form(BatchNormOp(form), plain, plain_trained, dy, environment);
  auto got = run_form(BatchNormOp(synced(form)), sync, sync_trained, dy, environment);
  ASSERT_EQ(got.size(), want.size());
  for (size_t k = 0; k < got.size(); ++k) {
    ASSERT_EQ(got[k].spec, want[k].spec);
    EXPECT_TRUE(bytes_of(got[k]) == bytes_of(want[k]))
        << "result " << k << " of " << to_string(shape) << " relu " << form.relu << " residual "
        << form.residual;
  }
}

TEST_P(BatchNormTest, ValuesAndGradients) {
  for (const BatchNormAttributes& form : batch_norm_forms) {
    for (Shape shape : {Shape{2, 3, 5, 6}, Shape{7, 3}})
      check_op(train_case(form, uniform(shape, 31, -1, 3), GetParam()), GetParam());
  }
}

TEST_P(BatchNormTest, ValuesAndGradientsOfTheSyncedChain) {
  for (int64_t channels : {1, 3, 16, 64}) {
    for (const BatchNormAttributes& form : batch_norm_forms) {
      HostTensor x = uniform({2, 3, 5, channels}, 31, -1, 3);
      check_op(train_case(synced(form), x, GetParam()), GetParam());
    }
  }
}

TEST_P(BatchNormTest, Moments) {
  for (int64_t channels : {1, 3, 16, 64, 300}) {
    check_values(moments_case(uniform({2, 7, channels}, 30, -1, 3)), GetParam());
    check_values(moments_case(uniform({10007, channels}, 30, -1, 3)), GetParam());
  }
}

// Many blocks for the threads and a part of one; one channel; more channels than lanes.
TEST_P(BatchNormTest, ValuesAndGradientsOverManyBlocks) {
  for (Shape shape : {Shape{3, 733, 6}, Shape{5001, 1}, Shape{57, 300}}) {
    for (const BatchNormAttributes& plain : batch_norm_forms) {
      for (const BatchNormAttributes& form : {plain, synced(plain)}) {
        OpCase test = train_case(form, uniform(shape, 31, -1, 3), GetParam());
        test.gradient_samples = 8;
        test.kink_share = 0.2;
        test.difference_step = 1e-6;  // few of thousands of elements are so close to relu's kink
        check_op(test, GetParam());
      }
    }
  }
}

// sum x^2 - mean^2 would lose all digits of this variance.
TEST_P(BatchNormTest, LargeMeanLosesNoVariance) {
  for (const BatchNormAttributes& form : {BatchNormAttributes{}, synced({})})
    check_values(train_case(form, uniform({4, 1000, 3}, 35, 998, 1002), GetParam()), GetParam());
}

// The first rows of a thread are far from the others, as padding is.
TEST_P(BatchNormTest, OutliersDoNotSpoilTheVariance) {
  HostTensor x = uniform({6000, 4}, 37, 100, 104);
  for (int64_t i = 0; i < 4000; ++i) x[i] = 0;
  check_values(train_case({}, x, GetParam()), GetParam());
}

// One row has no variance: y is beta, and the running variance stays.
TEST_P(BatchNormTest, OneRow) {
  for (const BatchNormAttributes& form : {BatchNormAttributes{}, synced({})})
    check_values(train_case(form, uniform({1, 5}, 36), GetParam()), GetParam());
}

// It uses the running statistics. A frozen batch norm passes gradients on to x and the residual:
// gamma and beta have none.
TEST_P(BatchNormTest, EvaluationAndItsGradient) {
  for (Shape shape : {Shape{3, 4, 5}, Shape{57, 36}}) {
    for (const BatchNormAttributes& form : batch_norm_forms) {
      Shape channels{shape.back()};
      OpCase test;
      test.op = std::make_shared<BatchNormEvalOp>(form);
      test.inputs = {activation(uniform(shape, 41)), statistic(uniform(channels, 42, 0.5, 1.5)),
                     statistic(uniform(channels, 43)), statistic(uniform(channels, 44)),
                     statistic(uniform(channels, 45, 0.1, 2))};
      if (form.residual) test.inputs.push_back(activation(uniform(shape, 46)));
      test.reference = [form](Tensors in) {
        const HostTensor* residual = form.residual ? &in[5] : nullptr;
        return normalized(in[0], {in[3].data, in[4].data}, in[1], in[2], residual, form.relu);
      };
      test.floor = 8;  // |x - mean| gamma inv_std + |beta| + |residual|
      test.value_factor = 2;
      test.kink_share = 0.02;
      test.gradient_samples = 16;
      check_op(test, GetParam());
    }
  }
}

TEST_P(BatchNormTest, SyncOfOneTowerHasTheBitsOfThePlainForm) {
  Environment environment = GetParam();
  int most = environment.threads;
  for (int threads : {most, most + 2}) {
    environment.threads = threads;
    for (int64_t channels : {1, 3, 16, 64}) {
      for (const BatchNormAttributes& form : batch_norm_forms) {
        expect_bits_of_the_plain_form(form, {5, 3, 7, channels}, environment);
        expect_bits_of_the_plain_form(form, {9001, channels}, environment);
      }
    }
  }
}

// A gradient of two terms has the bits of an op that adds them up before.
TEST_P(BatchNormTest, AddsTwoGradientsAsAnOpWould) {
  for (Shape shape : {Shape{40, 3, 8}, Shape{70, 5}}) {
    int64_t channels = shape.back();
    Input one = activation(uniform(shape, 31)), other = activation(uniform(shape, 32));
    std::vector<Input> inputs = {one,
                                 activation(uniform(shape, 33)),
                                 parameter(uniform({channels}, 34)),
                                 statistic(uniform({channels}, 35)),
                                 statistic(uniform({channels}, 36, 0.5, 2)),
                                 activation(uniform(shape, 37))};
    BatchNormAttributes plain{.relu = true, .residual = true}, two = plain;
    two.two_gradients = true;
    inputs[0] = activation(run_op(AddOp(), std::vector{one, other}, GetParam())[0]);
    auto want = run_op(BatchNormBackwardOp(plain), inputs, GetParam());
    auto sums = run_op(BatchNormGradientSumsOp(plain), inputs, GetParam());
    inputs[0] = one;
    inputs.push_back(other);
    auto got = run_op(BatchNormBackwardOp(two), inputs, GetParam());
    auto got_sums = run_op(BatchNormGradientSumsOp(two), inputs, GetParam());
    for (size_t i = 0; i < want.size(); ++i) EXPECT_EQ(got[i].data, want[i].data) << i;
    for (size_t i = 0; i < sums.size(); ++i) EXPECT_EQ(got_sums[i].data, sums[i].data) << i;
  }
}

TEST(BatchNormOp, IsFusedWithReluAndResidual) {
  for (const BatchNormAttributes& form : {BatchNormAttributes{}, synced({})}) {
    BatchNormOp plain(form);
    auto relu = plain.with_relu(), residual = plain.with_residual();
    ASSERT_TRUE(relu && residual);
    EXPECT_EQ(relu->name(), plain.name());
    EXPECT_TRUE(static_cast<const BatchNormOp&>(*relu).attributes().relu);
    EXPECT_TRUE(static_cast<const BatchNormOp&>(*residual).attributes().residual);
    EXPECT_TRUE(static_cast<const BatchNormOp&>(*residual).attributes().relu);
    EXPECT_EQ(relu->with_relu(), nullptr);
    EXPECT_EQ(relu->with_residual(), nullptr);
    EXPECT_EQ(residual->with_residual(), nullptr);
  }
}

TEST(BatchNormOp, RefusesInputsThatDoNotFit) {
  TensorSpec x{{2, 4, 4, 8}, DType::f32}, c{{8}, DType::f32}, other{{4}, DType::f32};
  EXPECT_EQ(BatchNormOp().infer(std::vector{x, c, c, c}).size(), 5u);
  EXPECT_THROW(BatchNormOp().infer(std::vector{x, c, c}), Error);
  EXPECT_THROW(BatchNormOp().infer(std::vector{x, c, other, c}), Error);
  EXPECT_THROW(BatchNormOp().infer(std::vector{x, c, c, other}), Error);
  EXPECT_THROW(BatchNormOp({1e-5f, true, true}).infer(std::vector{x, c, c, c, c}), Error);
}

TEST(BatchNormOp, RefusesSumsThatDoNotFit) {
  TensorSpec x{{2, 4, 4, 8}, DType::f32}, c{{8}, DType::f32}, sums{{17}, DType::f64};
  TensorSpec short_sums{{16}, DType::f64}, float_sums{{17}, DType::f32};
  BatchNormOp sync(synced({}));
  EXPECT_EQ(BatchNormMomentsOp().infer(std::vector{x}), std::vector{sums});
  EXPECT_THROW(BatchNormMomentsOp().infer(std::vector{c}), Error);
  EXPECT_EQ(sync.infer(std::vector{x, c, c, c, sums}).size(), 5u);
  for (const TensorSpec& wrong : {short_sums, float_sums}) {
    EXPECT_THROW(sync.infer(std::vector{x, c, c, c, wrong}), Error);
    EXPECT_THROW(BatchNormBackwardOp(synced({})).infer(std::vector{x, x, c, c, c, wrong}), Error);
  }
  EXPECT_THROW(sync.infer(std::vector{x, c, c, x, sums}), Error);
  EXPECT_THROW(BatchNormOp(synced({1e-5f, true, true})).infer(std::vector{x, c, c, c, sums}),
               Error);
}

TEST(BatchNormOp, SyncedBackwardTakesTheMaskOnceOnly) {
  TensorSpec x{{2, 8}, DType::bf16}, c{{8}, DType::f32}, sums{{17}, DType::f64};
  BatchNormAttributes relu = synced({1e-5f, true, false}), both = synced({1e-5f, true, true});
  EXPECT_EQ(BatchNormGradientSumsOp(relu).infer(std::vector{x, x, c, c, c, c}),
            (std::vector{sums, c, c}));
  EXPECT_EQ(BatchNormGradientSumsOp(both).infer(std::vector{x, x, c, c, c, x}),
            (std::vector{sums, c, c, x}));
  EXPECT_EQ(BatchNormBackwardOp(relu).infer(std::vector{x, x, c, c, c, c, sums}), std::vector{x});
  EXPECT_EQ(BatchNormBackwardOp(both).infer(std::vector{x, x, c, c, c, sums}), std::vector{x});
  EXPECT_THROW(BatchNormBackwardOp(both).infer(std::vector{x, x, c, c, c, c, sums}), Error);
}

}  // namespace
}  // namespace spire::testing
