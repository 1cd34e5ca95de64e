#include <algorithm>
#include <cmath>
#include <cstring>

#include <fmt/format.h>
#include <tests/base/message_of.h>
#include <tests/kernels/eager.h>
#include <tests/kernels/op_test.h>

#include <spire/random_stream.h>

#include "engine/base/fail.h"

namespace spire::testing {

namespace {

std::vector<DeviceTensor> upload_all(std::span<const Input> inputs,
                                     const Environment& environment) {
  std::vector<DeviceTensor> tensors;
  for (const Input& input : inputs) {
    tensors.push_back(upload(input.tensor, dtype_of(input.role, environment),
                             input.role == Role::parameter, environment.device));
  }
  return tensors;
}

std::vector<HostTensor> download_all(std::span<const DeviceTensor> tensors) {
  std::vector<HostTensor> host;
  for (const DeviceTensor& tensor : tensors) host.push_back(download(tensor));
  return host;
}

// Bounds of the error of a tensor's elements.
struct Bound {
  double factor, unit, floor;
  double least;  // half the distance of the dtype's subnormal numbers
  double at(double magnitude) const { return factor * unit * (magnitude + floor) + least; }
};

Bound bound_for(const OpCase& test, double factor, DType dtype, const Environment& environment) {
  double unit = unit_roundoff(dtype);
  bool gpu = environment.device.kind == DeviceKind::cuda;
  if (test.coarse && gpu && dtype == DType::f32) unit = unit_roundoff(environment.dtype);
  return {factor, unit, test.floor, dtype == DType::f16 ? 0x1p-25 : 1e-37};
}

// NaN equals NaN here, and an infinity itself.
bool agrees(double got, double want, double tolerance) {
  if (std::isnan(want) || std::isinf(want)) return std::isnan(want) ? std::isnan(got) : got == want;
  return std::abs(got - want) <= tolerance;
}

// dL/dx_i of one input element and the sum of the absolute terms dL/dy_k * dy_k/dx_i.
struct Slope {
  double value = 0, magnitude = 0;
  bool kink = false;
};

// Central differences of the reference around one element.
class Differences {
 public:
  Differences(const OpCase& test, std::vector<HostTensor> inputs, std::vector<HostTensor> weights)
      : test_(test),
        inputs_(std::move(inputs)),
        weights_(std::move(weights)),
        center_(test.reference(inputs_)) {}

  Slope at(size_t input, int64_t element) {
    double h = test_.difference_step;
    double x = inputs_[input][element];
    auto above = moved(input, element, x + h), below = moved(input, element, x - h);
    Slope slope;
    double bend = 0;  // |right slope - left slope|: O(h) where the reference is smooth
    for (size_t k = 0; k < weights_.size(); ++k) {
      for (int64_t j = 0; j < weights_[k].size(); ++j) {
        double term = weights_[k][j] * (above[k][j] - below[k][j]) / (2 * h);
        slope.value += term;
        slope.magnitude += std::abs(term);
        bend += std::abs(weights_[k][j] * (above[k][j] + below[k][j] - 2 * center_[k][j]) / h);
      }
    }
    // Where the slopes left and right differ by more than h can explain, there is a kink.
    slope.kink = bend > 1e-2 * (slope.magnitude + 1e-2);
    return slope;
  }

 private:
  std::vector<HostTensor> moved(size_t input, int64_t element, double value) {
    double saved = std::exchange(inputs_[input][element], value);
    auto outputs = test_.reference(inputs_);
    inputs_[input][element] = saved;
    return outputs;
  }

  const OpCase& test_;
  std::vector<HostTensor> inputs_, weights_;
  std::vector<HostTensor> center_;
};

// Compares gradients of evenly spaced elements of one input with central differences.
void check_slopes(const OpCase& test, Differences& differences, size_t input,
                  const HostTensor& analytic, const Bound& bound) {
  int64_t stride = std::max<int64_t>(1, analytic.size() / test.gradient_samples);
  int64_t checked = 0, kinks = 0;
  for (int64_t i = 0; i < analytic.size(); i += stride) {
    Slope slope = differences.at(input, i);
    ++checked;
    kinks += slope.kink;
    // 1e-9: the error of central differences themselves.
    double tolerance = bound.at(slope.magnitude) + 1e-9 * (1 + slope.magnitude);
    if (slope.kink || agrees(analytic[i], slope.value, tolerance)) continue;
    ADD_FAILURE() << fmt::format(
        "[{}] gradient of input {} element {}: analytic {:.9g}, numeric {:.9g}, tolerance {:.3g}",
        test.op->name(), input, i, analytic[i], slope.value, tolerance);
    return;
  }
  EXPECT_LE(static_cast<double>(kinks), test.kink_share * static_cast<double>(checked))
      << "[" << test.op->name() << "] input " << input << ": elements at a kink";
}

// r_k, rounded to the output's dtype; zero where L does not depend on the output.
std::vector<HostTensor> loss_weights(const OpCase& test, std::span<const DeviceTensor> outputs,
                                     DeviceId device, std::map<int, DeviceTensor>& gradients) {
  std::vector<HostTensor> weights;
  for (const DeviceTensor& output : outputs) weights.push_back(zeros(output.spec.shape));
  if (test.is_loss) {
    weights[static_cast<size_t>(test.differentiable[0])][0] = test.step.gradient_scale;
    return weights;
  }
  for (int k : test.differentiable) {
    const TensorSpec& spec = outputs[static_cast<size_t>(k)].spec;
    auto r = upload(uniform(spec.shape, 977 + static_cast<uint64_t>(k)), spec.dtype, false, device);
    weights[static_cast<size_t>(k)] = download(r);
    gradients.emplace(k, std::move(r));
  }
  return weights;
}

// The environment of a second run.
Environment again_in(const OpCase& test, Environment environment) {
  if (test.any_threads) environment.threads += 2;
  return environment;
}

// A kernel run twice on the same inputs gives the same bits.
void expect_same_bits(const Op& op, const DeviceTensor& first, const DeviceTensor& second) {
  EXPECT_TRUE(bytes_of(first) == bytes_of(second)) << "[" << op.name() << "] two runs differ";
}

}  // namespace

HostTensor zeros(const Shape& shape) {
  return {shape, std::vector<double>(static_cast<size_t>(shape.elements()))};
}

HostTensor uniform(const Shape& shape, uint64_t seed, double low, double high) {
  HostTensor tensor = zeros(shape);
  RandomStream stream(seed, Purpose::initialize);
  for (int64_t i = 0; i < tensor.size(); ++i) {
    tensor[i] = low + (high - low) * static_cast<double>(stream.uniform(static_cast<uint64_t>(i)));
  }
  return tensor;
}

HostTensor absolute(const HostTensor& tensor) {
  HostTensor result = tensor;
  for (double& value : result.data) value = std::abs(value);
  return result;
}

double largest(const HostTensor& tensor) {
  double most = 0;
  for (double value : tensor.data) most = std::max(most, std::abs(value));
  return most;
}

std::vector<HostTensor> absolute(Tensors tensors) {
  std::vector<HostTensor> result;
  for (const HostTensor& tensor : tensors) result.push_back(absolute(tensor));
  return result;
}

HostTensor on_grid(HostTensor tensor) {
  for (double& value : tensor.data) value = std::round(value * 64) / 64;
  return tensor;
}

std::string refusal(const Op& op, const std::vector<TensorSpec>& inputs) {
  std::string message = message_if_any(Category::config, [&] { op.infer(inputs); });
  return message.empty() ? "accepted" : message;
}

Input activation(HostTensor tensor) {
  return {std::move(tensor), Role::activation, true};
}
Input parameter(HostTensor tensor) {
  return {std::move(tensor), Role::parameter, true};
}
Input statistic(HostTensor tensor) {
  return {std::move(tensor), Role::statistic, false};
}
Input sums(HostTensor tensor) {
  return {std::move(tensor), Role::sums, false};
}
Input labels(HostTensor tensor) {
  return {std::move(tensor), Role::labels, false};
}
Input plain(HostTensor tensor) {
  return {std::move(tensor), Role::statistic, true};
}

void OpTest::SetUp() {
  if (GetParam().device.kind == DeviceKind::cuda && discover_cuda().devices.empty()) {
    GTEST_SKIP() << "no CUDA device";
  }
}

std::vector<Environment> every_environment() {
  std::vector<Environment> all;
  for (DType dtype : {DType::f32, DType::bf16}) {
    for (int threads : {1, 2}) all.push_back({{DeviceKind::cpu, 0}, dtype, threads, 0});
  }
  for (DType dtype : {DType::f32, DType::bf16, DType::f16})
    all.push_back({{DeviceKind::cuda, 0}, dtype, 1, 0});
  return all;
}

std::string to_string(const Environment& environment) {
  bool cuda = environment.device.kind == DeviceKind::cuda;
  return fmt::format("{}_{}_{}", cuda ? "cuda" : "cpu", spire::to_string(environment.dtype),
                     environment.threads == 1 ? "one_thread" : "two_threads");
}

std::ostream& operator<<(std::ostream& out, const Environment& environment) {
  return out << to_string(environment);
}

std::string environment_name(const ::testing::TestParamInfo<Environment>& info) {
  return to_string(info.param);
}

std::vector<HostTensor> run_op(const Op& op, std::span<const Input> inputs,
                               const Environment& environment, const StepContext& step) {
  return download_all(execute(op, upload_all(inputs, environment), environment, step));
}

void check_values(const OpCase& test, const Environment& environment) {
  auto inputs = upload_all(test.inputs, environment);
  auto exact = download_all(inputs);  // what the kernel reads: rounded to its dtypes
  auto outputs = execute(*test.op, inputs, environment, test.step, true);
  auto again = execute(*test.op, inputs, again_in(test, environment), test.step);
  auto want = test.reference(exact);
  auto magnitude = test.magnitude ? test.magnitude(exact) : absolute(want);
  ASSERT_EQ(outputs.size(), want.size());

  for (size_t k = 0; k < outputs.size(); ++k) {
    ASSERT_EQ(outputs[k].spec.shape, want[k].shape) << "output " << k;
    expect_same_bits(*test.op, outputs[k], again[k]);
    HostTensor got = download(outputs[k]);
    Bound bound = bound_for(test, test.value_factor, outputs[k].spec.dtype, environment);
    for (int64_t i = 0; i < got.size(); ++i) {
      double tolerance = bound.at(magnitude[k][i]);
      if (agrees(got[i], want[k][i], tolerance)) continue;
      ADD_FAILURE() << fmt::format(
          "[{}] output {} element {}: kernel {:.9g}, reference {:.9g}, "
          "tolerance {:.3g}",
          test.op->name(), k, i, got[i], want[k][i], tolerance);
      break;
    }
  }
}

void check_gradient(const OpCase& test, const Environment& environment) {
  auto inputs = upload_all(test.inputs, environment);
  auto outputs = execute(*test.op, inputs, environment, test.step);
  std::map<int, DeviceTensor> gradients;
  auto weights = loss_weights(test, outputs, environment.device, gradients);
  std::vector<bool> wants;
  for (const Input& input : test.inputs) wants.push_back(input.differentiate);

  EagerBuilder builder(inputs, wants, outputs, gradients, environment, test.step);
  test.op->gradient(builder);
  EagerBuilder again(inputs, wants, outputs, gradients, again_in(test, environment), test.step);
  if (test.any_threads) test.op->gradient(again);
  Differences differences(test, download_all(inputs), std::move(weights));
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!wants[i]) continue;
    const DeviceTensor* gradient = builder.gradient(static_cast<int>(i));
    ASSERT_NE(gradient, nullptr) << "[" << test.op->name() << "] no gradient for input " << i;
    if (test.any_threads)
      expect_same_bits(*test.op, *gradient, *again.gradient(static_cast<int>(i)));
    Bound bound = bound_for(test, test.gradient_factor, gradient->spec.dtype, environment);
    check_slopes(test, differences, i, download(*gradient), bound);
  }
}

void check_op(const OpCase& test, const Environment& environment) {
  check_values(test, environment);
  check_gradient(test, environment);
}

}  // namespace spire::testing
