// Tests of batch normalization over all towers: a batch split over towers, evenly or not, has the
// results of one tower with the whole batch, up to rounding.
#include <algorithm>

#include <fmt/format.h>
#include <tests/kernels/eager.h>
#include <tests/kernels/ops/batch_norm_reference.h>

#include "kernels/ops/batch_norm/batch_norm.h"

namespace spire::testing {
namespace {

struct Batch {
  HostTensor x, dy, residual;  // (N, ..., C)
  HostTensor gamma, beta;
  int64_t size() const { return x.shape[0]; }
};

// Samples drift, so that the statistics of each tower are far from those of the batch.
Batch make_batch(const Shape& shape, DType dtype) {
  auto rounded = [&](HostTensor t) { return download(upload(t, dtype, false)); };
  HostTensor x = uniform(shape, 11, -1, 2);
  for (int64_t i = 0; i < x.size(); ++i) {
    x[i] += 4 * static_cast<double>(i) / static_cast<double>(x.size());
  }
  Shape channels{shape.back()};
  return {rounded(x), rounded(uniform(shape, 12)), rounded(uniform(shape, 13)),
          download(upload(uniform(channels, 14, 0.5, 1.5), DType::f32, true)),
          download(upload(uniform(channels, 15), DType::f32, true))};
}

// Samples [begin, end).
HostTensor samples(const HostTensor& whole, int64_t begin, int64_t end) {
  HostTensor some{whole.shape, {}};
  some.shape[0] = end - begin;
  int64_t each = whole.size() / whole.shape[0];
  some.data.assign(whole.data.begin() + begin * each, whole.data.begin() + end * each);
  return some;
}

void append(HostTensor& to, const HostTensor& more) {
  to.data.insert(to.data.end(), more.data.begin(), more.data.end());
}

void add(HostTensor& to, const HostTensor& more) {
  to.data.resize(more.data.size());
  for (int64_t i = 0; i < more.size(); ++i) to[i] += more[i];
}

// Results of a step, over all towers.
struct Step {
  HostTensor y, dx, dresidual;                    // of all samples
  HostTensor stat_mean, stat_var, dgamma, dbeta;  // summed
};

// One tower: its operands, and the results of its kernels.
class Tower {
 public:
  Tower(const Batch& batch, int64_t begin, int64_t end, BatchNormAttributes form,
        const Environment& environment)
      : form_(form), environment_(environment) {
    auto take = [&](const HostTensor& t) {
      return upload(samples(t, begin, end), environment.dtype, false, environment.device);
    };
    x_ = take(batch.x), dy_ = take(batch.dy), residual_ = take(batch.residual);
    gamma_ = upload(batch.gamma, DType::f32, true, environment.device);
    beta_ = upload(batch.beta, DType::f32, true, environment.device);
    step_.tower_weight =
        static_cast<float>(static_cast<double>(end - begin) / static_cast<double>(batch.size()));
  }

  HostTensor moments() { return download(run(BatchNormMomentsOp(), {x_})[0]); }

  void normalize(const HostTensor& total, Step& result) {
    std::vector<DeviceTensor> inputs = {x_, gamma_, beta_,
                                        beta_,  // whatever the running variance is
                                        upload(total, DType::f64, false, environment_.device)};
    if (form_.residual) inputs.push_back(residual_);
    forward_ = run(BatchNormOp(synced(form_)), inputs);
    append(result.y, download(forward_[0]));
    add(result.stat_mean, download(forward_[3]));
    add(result.stat_var, download(forward_[4]));
  }

  HostTensor gradient_sums(Step& result) {
    std::vector<DeviceTensor> inputs = {dy_, x_, gamma_, forward_[1], forward_[2]};
    if (form_.relu) inputs.push_back(form_.residual ? forward_[0] : beta_);
    auto outputs = run(BatchNormGradientSumsOp(form_), inputs);
    add(result.dgamma, download(outputs[1]));
    add(result.dbeta, download(outputs[2]));
    if (form_.relu && form_.residual) {
      dy_ = outputs[3];
      append(result.dresidual, download(dy_));
    }
    return download(outputs[0]);
  }

  void write_dx(const HostTensor& total, Step& result) {
    std::vector<DeviceTensor> inputs = {dy_, x_, gamma_, forward_[1], forward_[2]};
    if (form_.relu && !form_.residual) inputs.push_back(beta_);
    inputs.push_back(upload(total, DType::f64, false, environment_.device));
    append(result.dx, download(run(BatchNormBackwardOp(synced(form_)), inputs)[0]));
  }

  // The whole step by the ops over one tower.
  Step alone() {
    std::vector<DeviceTensor> inputs = {x_, gamma_, beta_, beta_};
    if (form_.residual) inputs.push_back(residual_);
    forward_ = run(BatchNormOp(form_), inputs);
    inputs = {dy_, x_, gamma_, forward_[1], forward_[2]};
    if (form_.relu) inputs.push_back(form_.residual ? forward_[0] : beta_);
    auto backward = run(BatchNormBackwardOp(form_), inputs);
    Step step{.y = download(forward_[0]),
              .dx = download(backward[0]),
              .dresidual = {},
              .stat_mean = download(forward_[3]),
              .stat_var = download(forward_[4]),
              .dgamma = download(backward[1]),
              .dbeta = download(backward[2])};
    if (backward.size() > 3) step.dresidual = download(backward[3]);
    return step;
  }

 private:
  std::vector<DeviceTensor> run(const Op& op, const std::vector<DeviceTensor>& inputs) {
    return execute(op, inputs, environment_, step_);
  }

  BatchNormAttributes form_;
  Environment environment_;
  StepContext step_;
  DeviceTensor x_, dy_, residual_, gamma_, beta_;
  std::vector<DeviceTensor> forward_;
};

// Towers in lockstep, `split` samples each; the sums over towers are added up here.
Step run_towers(const Batch& batch, const std::vector<int64_t>& split, BatchNormAttributes form,
                const Environment& environment) {
  std::vector<Tower> towers;
  int64_t begin = 0;
  for (int64_t count : split) {
    towers.emplace_back(batch, begin, begin + count, form, environment);
    begin += count;
  }
  Step result;
  HostTensor moments = zeros({2 * batch.gamma.size() + 1}), gradients = moments;
  for (Tower& tower : towers) add(moments, tower.moments());
  for (Tower& tower : towers) tower.normalize(moments, result);
  for (Tower& tower : towers) add(gradients, tower.gradient_sums(result));
  for (Tower& tower : towers) tower.write_dx(gradients, result);
  return result;
}

// |got - want| <= 2 roundings of want to the dtype, and 32 of `size` to fp32 for the sums' order.
void expect_near(const HostTensor& got, const HostTensor& want, DType dtype, double size,
                 const char* what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  for (int64_t i = 0; i < want.size(); ++i) {
    double tolerance = 2 * unit_roundoff(dtype) * std::abs(want[i]) + 32 * 0x1p-24 * size;
    ASSERT_NEAR(got[i], want[i], tolerance) << what << "[" << i << "]";
  }
}

void expect_same_step(const Step& got, const Step& want, DType dtype, double rows) {
  expect_near(got.y, want.y, dtype, largest(want.y), "y");
  expect_near(got.dx, want.dx, dtype, largest(want.dx), "dx");
  expect_near(got.dresidual, want.dresidual, dtype, 0, "dresidual");
  expect_near(got.stat_mean, want.stat_mean, DType::f32, largest(want.stat_mean), "stat_mean");
  expect_near(got.stat_var, want.stat_var, DType::f32, largest(want.stat_var), "stat_var");
  // |g| < 1 and |xhat| is around 1: a channel's sum is of terms of size 1.
  expect_near(got.dgamma, want.dgamma, DType::f32, rows, "dgamma");
  expect_near(got.dbeta, want.dbeta, DType::f32, rows, "dbeta");
}

double largest_difference(const HostTensor& a, const HostTensor& b) {
  HostTensor difference = a;
  for (int64_t i = 0; i < b.size(); ++i) difference[i] -= b[i];
  return largest(difference);
}

class BatchNormTowersTest : public OpTest {
 protected:
  void check(const Shape& shape, const std::vector<std::vector<int64_t>>& splits) {
    Batch batch = make_batch(shape, GetParam().dtype);
    double rows = static_cast<double>(shape.elements() / shape.back());
    for (const BatchNormAttributes& form : batch_norm_forms) {
      Step whole = Tower(batch, 0, batch.size(), form, GetParam()).alone();
      for (const auto& split : splits) {
        SCOPED_TRACE(fmt::format("{} relu {} residual {} split {}", to_string(shape), form.relu,
                                 form.residual, fmt::join(split, "+")));
        expect_same_step(run_towers(batch, split, form, GetParam()), whole, GetParam().dtype, rows);
      }
    }
  }
};

TEST_P(BatchNormTowersTest, ASplitBatchIsTheWholeBatch) {
  for (int64_t channels : {1, 3, 16, 64}) {
    check({8, 3, 5, channels}, {{4, 4}, {7, 1}, {1, 7}, {3, 3, 2}, {5, 1, 2}});
  }
}

TEST_P(BatchNormTowersTest, ASplitBatchIsTheWholeBatchOverManyBlocks) {
  for (int64_t channels : {1, 3, 16, 64}) {
    check({600, 3, 5, channels}, {{300, 300}, {599, 1}, {257, 256, 87}});
  }
}

// Shows that the tests above would fail with statistics of each tower alone.
TEST_P(BatchNormTowersTest, TowersAloneAreFarFromTheWholeBatch) {
  Batch batch = make_batch({8, 3, 5, 16}, GetParam().dtype);
  Step whole = Tower(batch, 0, 8, {}, GetParam()).alone();
  Step first = Tower(batch, 0, 4, {}, GetParam()).alone();
  EXPECT_GT(largest_difference(first.y, samples(whole.y, 0, 4)), 0.5);
  EXPECT_GT(largest_difference(first.dx, samples(whole.dx, 0, 4)), 0.1);
}

// Weights of the statistics add up to 1: the sum over towers is that of the global batch.
TEST_P(BatchNormTowersTest, StatisticsAreUnbiasedOverTheGlobalBatch) {
  Batch batch = make_batch({9, 2, 3}, GetParam().dtype);
  Step step = run_towers(batch, {4, 4, 1}, {}, GetParam());
  Moments m = moments(batch.x);
  for (int64_t c = 0; c < 3; ++c) {
    auto k = static_cast<size_t>(c);
    EXPECT_NEAR(step.stat_mean[c], m.mean[k], 1e-6 * (1 + std::abs(m.mean[k])));
    EXPECT_NEAR(step.stat_var[c], m.var[k] * 18 / 17, 1e-6 * (1 + m.var[k]));
  }
}

SPIRE_TEST_EVERYWHERE(BatchNormTowersTest);

}  // namespace
}  // namespace spire::testing
