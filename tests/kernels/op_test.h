// Test of an op: its kernel against a float64 reference that reads like the formula, and the
// gradient that the op states as other ops against central differences of that reference. It runs
// on cpu x {f32, bf16} x {1, 2 threads} and cuda x {f32, bf16, f16}; without a GPU the CUDA
// instances are skipped, and tests/emulation runs them on the CPU.
#pragma once
#include <concepts>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <spire/error.h>

#include "kernels/kernel.h"

namespace spire::testing {

// A tensor in float64, with exactly the values that the kernel reads.
struct HostTensor {
  Shape shape;
  std::vector<double> data;

  double& operator[](int64_t i) { return data[static_cast<size_t>(i)]; }
  double operator[](int64_t i) const { return data[static_cast<size_t>(i)]; }
  int64_t size() const { return static_cast<int64_t>(data.size()); }
};

using Tensors = std::span<const HostTensor>;

HostTensor zeros(const Shape& shape);
HostTensor uniform(const Shape& shape, uint64_t seed, double low = -1, double high = 1);
HostTensor absolute(const HostTensor& tensor);
std::vector<HostTensor> absolute(Tensors tensors);
double largest(const HostTensor& tensor);  // magnitude
// Rounds to multiples of 1/64: they and their sums in fp32 are exact in bf16, so that a relu cuts
// where the reference does.
HostTensor on_grid(HostTensor tensor);

// Role of an input, which decides its dtype: an activation has the run's, a parameter is f32 and
// packed when the kernel asks, a statistic is plain f32, sums are f64, labels are i32.
enum class Role { activation, parameter, statistic, sums, labels };

struct Input {
  HostTensor tensor;
  Role role = Role::activation;
  bool differentiate = true;
};
Input activation(HostTensor tensor);
Input parameter(HostTensor tensor);
Input statistic(HostTensor tensor);  // no gradient
Input sums(HostTensor tensor);       // no gradient
Input labels(HostTensor tensor);     // no gradient
Input plain(HostTensor tensor);      // no gradient; fp32 in every environment

// Implementation of attention on a GPU: cuDNN's where it has one, for all heads at once or head by
// head; or Spire's kernels.
enum class AttentionBy { cudnn, cudnn_head_by_head, own };

struct Environment {
  DeviceId device;
  DType dtype = DType::f32;
  int threads = 1;
  int op_id = 0;
  AttentionBy attention = AttentionBy::cudnn;
  bool padded_rows = false;  // where the device's kernel takes them
};
std::string to_string(const Environment& environment);  // "cpu_bf16_two_threads"
std::ostream& operator<<(std::ostream& out, const Environment& environment);

// Fixture:  SPIRE_OP_TEST(AddTest);
//           TEST_P(AddTest, Values) { check_op(add_case({3, 5}), GetParam()); }
// A fixture with members is a class of its own, with SPIRE_TEST_EVERYWHERE(AddTest) behind it.
class OpTest : public ::testing::TestWithParam<Environment> {
 protected:
  void SetUp() override;  // skips "no CUDA device"
};
std::vector<Environment> every_environment();
std::string environment_name(const ::testing::TestParamInfo<Environment>& info);
#define SPIRE_TEST_EVERYWHERE(Fixture)                                                 \
  INSTANTIATE_TEST_SUITE_P(Everywhere, Fixture,                                        \
                           ::testing::ValuesIn(::spire::testing::every_environment()), \
                           ::spire::testing::environment_name)
#define SPIRE_OP_TEST(Fixture)                        \
  class Fixture : public ::spire::testing::OpTest {}; \
  SPIRE_TEST_EVERYWHERE(Fixture)

// All outputs of an op, which may be one.
struct Outputs : std::vector<HostTensor> {
  Outputs(HostTensor one) : vector{std::move(one)} {}
  Outputs(std::vector<HostTensor> all) : vector(std::move(all)) {}
};
// Computes the outputs of an op from its inputs.
using Reference = std::function<Outputs(Tensors)>;

struct OpCase {
  OpCase() = default;
  template <std::derived_from<Op> SomeOp>
  OpCase(const SomeOp& of, std::vector<Input> from, Reference by)
      : op(std::make_shared<SomeOp>(of)), inputs(std::move(from)), reference(std::move(by)) {}

  std::shared_ptr<const Op> op;
  std::vector<Input> inputs;
  Reference reference;
  // Sum of the absolute terms of each output, to which rounding errors are relative; |output| when
  // absent. For a sum of products it is reference(absolute(inputs)).
  Reference magnitude;
  // |error| <= factor * unit roundoff of the tensor's dtype * (magnitude + floor).
  double value_factor = 4, gradient_factor = 8;
  double floor = 0;
  bool any_threads = false;  // the bits do not depend on the number of CPU threads
  bool coarse = false;       // f32 tensors of a 16-bit run on a GPU have the error of 16 bits
  // L = sum over these outputs of r_k * output_k, r random; of a loss: gradient_scale times the
  // first of these outputs.
  std::vector<int> differentiable = {0};
  bool is_loss = false;
  double difference_step = 1e-5;
  int gradient_samples = 200;  // elements of each input that are differenced
  double kink_share = 0;       // the most elements that may be skipped for a kink within the step
  StepContext step;
};

// Runs the kernel once, on inputs rounded to their dtypes; outputs and workspace begin as garbage.
std::vector<HostTensor> run_op(const Op& op, std::span<const Input> inputs,
                               const Environment& environment, const StepContext& step = {});

// Returns the message of the Error(config) that op.infer(inputs) throws, else "accepted".
std::string refusal(const Op& op, const std::vector<TensorSpec>& inputs);
inline TensorSpec f32(const Shape& shape) {
  return {shape, DType::f32};
}

// Checks values against the reference, and that a second run gives the same bits; with any_threads
// it has other threads, and so has a second check_gradient().
void check_values(const OpCase& test, const Environment& environment);
void check_gradient(const OpCase& test, const Environment& environment);
void check_op(const OpCase& test, const Environment& environment);  // both

}  // namespace spire::testing
