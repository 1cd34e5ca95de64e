// Test body for every op. It compares the kernel with a float64 reference, and the ops of the
// gradient with central differences of that reference, on cpu x {f32, bf16} x {1, 2 threads} and
// cuda x {f32, bf16, f16}. CUDA instances are skipped without a device; tests/emulation runs them
// on the CPU.
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "kernels/kernel.h"

namespace spire::testing {

// A tensor of the references: the exact values that the kernel reads.
struct HostTensor {
  Shape shape;
  std::vector<double> data;

  double& operator[](int64_t i) { return data[static_cast<size_t>(i)]; }
  double operator[](int64_t i) const { return data[static_cast<size_t>(i)]; }
  int64_t size() const { return static_cast<int64_t>(data.size()); }
};

HostTensor zeros(const Shape& shape);
HostTensor uniform(const Shape& shape, uint64_t seed, double low = -1, double high = 1);
HostTensor absolute(const HostTensor& tensor);
std::vector<HostTensor> absolute(std::span<const HostTensor> tensors);

// Kinds of inputs, which decide their dtype: an activation has the run's, a parameter is f32 and
// packed if the kernel asks, a statistic is plain f32, sums are f64, labels are i32.
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

// Attention on a GPU: cuDNN's if it has an engine, in one run or one per head; or Spire's own.
enum class AttentionBy { cudnn, cudnn_head_by_head, own };

// Device and dtype of a test body.
struct Environment {
  DeviceId device;
  DType dtype = DType::f32;
  int threads = 1;
  int op_id = 0;
  AttentionBy attention = AttentionBy::cudnn;
  bool padded_rows = false;  // where the device's kernel takes them
};
std::string name(const Environment& environment);  // "cpu_bf16_two_threads"
std::ostream& operator<<(std::ostream& out, const Environment& environment);

// Fixture of op tests: class AddTest : public OpTest {};  TEST_P(AddTest, ...) { check_op(...,
// GetParam()); }  and SPIRE_TEST_EVERYWHERE(AddTest) at the end of the file.
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

// Computes all outputs of an op from its inputs, in float64.
using Reference = std::function<std::vector<HostTensor>(std::span<const HostTensor>)>;

struct OpCase {
  std::shared_ptr<const Op> op;
  std::vector<Input> inputs;
  Reference reference;
  // Sum of the absolute terms of each output, to which rounding errors are relative. Without it
  // |output|; for a sum of products reference(absolute(inputs)).
  Reference magnitude;
  // |error| <= factor * unit roundoff of the tensor's dtype * (magnitude + floor).
  double value_factor = 4, gradient_factor = 8;
  double floor = 0;
  // f32 tensors of a 16-bit run on a GPU may have 16-bit errors, too: the library rounds inside.
  bool coarse = false;
  // L = sum over these outputs of r_k * output_k, r random. A loss has L = gradient_scale * output
  // 0.
  std::vector<int> differentiable = {0};
  bool is_loss = false;
  double difference_step = 1e-5;
  int gradient_samples = 200;  // elements of each input that are differenced
  // Elements with a kink of the reference within the step are skipped, but at most this share.
  double kink_share = 0;
  StepContext step;
};

// Runs the kernel once, on garbage outputs and workspace. Input values are rounded to their dtype
// first.
std::vector<HostTensor> run_op(const Op& op, std::span<const Input> inputs,
                               const Environment& environment, const StepContext& step = {});

void check_values(const OpCase& test, const Environment& environment);  // and: twice the same bits
void check_gradient(const OpCase& test, const Environment& environment);
void check_op(const OpCase& test, const Environment& environment);  // both

}  // namespace spire::testing
