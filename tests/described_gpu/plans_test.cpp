// Tests of the plans that cuDNN makes for described GPUs, for each convolution and attention of the
// shipped configs, and where that is asked for of the op tests. Nothing runs; the code of the plans
// is searched for atomics.
#include <cstdlib>

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <tests/described_gpu/driver.h>
#include <tests/described_gpu/float_atomics.h>
#include <tests/described_gpu/shapes.h>
#include <tests/kernels/cuda/described_gpus.h>
#include <tests/long_tests.h>

#include "engine/base/fail.h"
#include "kernels/cuda/convolution_form.h"
#include "kernels/cuda/cudnn_attention.h"
#include "kernels/cuda/cudnn_convolution.h"
#include "kernels/cuda/cudnn_plan.h"
#include "kernels/cuda/engine_choice.h"
#include "kernels/cuda/libraries.h"
#include "kernels/ops/attention/attention_rules.h"

namespace spire::testing {
namespace {

struct DescribedGpu {
  const char* name;
  std::string_view properties;
  int compute;
};

void PrintTo(const DescribedGpu& gpu, std::ostream* out) {
  *out << gpu.name;
}

// The stand-in for the driver, which is this process's libcuda.so.1.
class Driver {
 public:
  Driver() : library_(dlopen("libcuda.so.1", RTLD_NOW)) {
    if (!library_) return;
    images_ = reinterpret_cast<decltype(images_)>(dlsym(library_, "described_images"));
    image_ = reinterpret_cast<decltype(image_)>(dlsym(library_, "described_image"));
  }
  bool is_there() const { return images_ && image_; }
  size_t images() const { return images_(); }

  // Returns the first kernel that adds floats atomically in the images loaded since the last call.
  std::string new_float_atomics() {
    std::string found;
    for (; seen_ < images_(); ++seen_) {
      if (found.empty()) found = float_atomics(image_(seen_));
    }
    return found;
  }

 private:
  void* library_;
  decltype(&described_images) images_ = nullptr;
  decltype(&described_image) image_ = nullptr;
  size_t seen_ = 0;
};

// The operations that are planned: one of each kind of the shipped configs, or all, those of the op
// tests included, with the engine that is proposed first; or all, with all engines that a run would
// measure.
enum class Sweep { one_of_each_kind, operations, engines };

Sweep sweep() {
  const char* asked = std::getenv("SPIRE_ALL_PLANS");
  if (asked && std::string_view(asked) == "engines") return Sweep::engines;
  return long_tests() ? Sweep::operations : Sweep::one_of_each_kind;
}

class PlansTest : public ::testing::TestWithParam<DescribedGpu> {
 protected:
  void SetUp() override {
    if (!driver.is_there()) GTEST_SKIP() << "libcuda.so.1 is not the stand-in: see the README";
    const char* file = std::getenv("SPIRE_SHAPES_FILE");
    ASSERT_NE(file, nullptr);
    shapes = read_shapes(file);
    if (sweep() == Sweep::one_of_each_kind) shapes = one_of_each_kind(shapes);
    ASSERT_FALSE(shapes.convolutions.empty());
    ASSERT_FALSE(shapes.attentions.empty());
    try {
      cudnn = std::make_unique<Cudnn>(GetParam().properties);
    } catch (const Error& error) {
      GTEST_SKIP() << "this cuDNN takes other descriptions of a GPU: " << error.what();
    }
  }

  // Checks all plans of a graph and returns their number.
  size_t check_plans(const CudnnDescriptor& graph, const CudnnRules& rules) {
    auto plans = CudnnPlan::find(*cudnn, graph, rules, sweep() == Sweep::engines ? max_engines : 1);
    for (const CudnnPlan& plan : plans) {
      SCOPED_TRACE(plan.engine());
      EXPECT_LE(plan.workspace_bytes(), rules.max_workspace);
      EXPECT_NO_THROW(plan.text());  // what a cache keeps
      EXPECT_TRUE(engine_config(*cudnn, graph, plan.engine(), rules)) << "is not found again";
    }
    EXPECT_EQ(driver.new_float_atomics(), "");
    return plans.size();
  }

  void check(const ConvolutionShape& shape) {
    SCOPED_TRACE(fmt::format("{}: {}", GetParam().name, to_string(shape)));
    CudnnRules rules{.tensor_cores = shape.dtype != DType::f32,
                     .max_workspace = CudaLibraries::Options().convolution_workspace};
    size_t plans = 0;
    for (const ConvolutionForm& form : forms_of(shape)) {
      if (form.product) continue;  // cuBLASLt's, which wants a real driver
      CudnnConvolution convolution(shape, form, *cudnn);
      plans += check_plans(convolution.graph(), rules);
      if (plans > 0 && sweep() != Sweep::engines) break;
    }
    EXPECT_GT(plans, 0u);
  }

  void check(const AttentionShape& shape) {
    if (!may_be_cudnns(shape, {GetParam().compute, cudnn_calls().version()})) return;
    SCOPED_TRACE(fmt::format("{}: attention {}", GetParam().name, to_string(shape)));
    CudnnRules rules{.max_workspace = CudaLibraries::Options().attention_workspace};
    auto share = share_within(shape, rules.max_workspace);
    ASSERT_TRUE(share);
    CudnnAttention attention(shape, *share, *cudnn);
    EXPECT_GT(check_plans(attention.graph(), rules), 0u);
  }

  Driver driver;
  Shapes shapes;
  std::unique_ptr<Cudnn> cudnn;
};

TEST_P(PlansTest, ConvolutionsFollowTheRules) {
  for (const ConvolutionShape& shape : shapes.convolutions) check(shape);
}

TEST_P(PlansTest, AttentionFollowsTheRules) {
  for (const AttentionShape& shape : shapes.attentions) check(shape);
}

// A forward pass of attention, which NVRTC compiles on each of these GPUs.
TEST_P(PlansTest, APlanThatWasKeptHasTheSameCodeAndWorkspace) {
  AttentionShape shape{
      .batch = 2, .length = 256, .heads = 2, .size = 64, .dtype = DType::bf16, .causal = true};
  CudnnAttention attention(shape, {2, 2}, *cudnn);
  CudnnRules rules{.max_workspace = CudaLibraries::Options().attention_workspace};
  auto made = CudnnPlan::find(*cudnn, attention.graph(), rules, 1);
  ASSERT_EQ(made.size(), 1u);
  size_t images = driver.images();
  auto config = engine_config(*cudnn, attention.graph(), made[0].engine(), rules);
  ASSERT_TRUE(config);
  auto again = CudnnPlan::restore(*cudnn, std::move(*config), made[0].text(), rules);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->engine(), made[0].engine());
  EXPECT_EQ(again->workspace_bytes(), made[0].workspace_bytes());
  EXPECT_EQ(again->text(), made[0].text());
  EXPECT_GT(driver.images(), images) << "code comes with the plan";
}

// A plan in the store that cuDNN refuses, as of another version, is made anew.
TEST_P(PlansTest, APlanThatCudnnRefusesIsMadeAnew) {
  AttentionShape shape{
      .batch = 2, .length = 128, .heads = 2, .size = 64, .dtype = DType::bf16, .causal = true};
  CudnnAttention attention(shape, {2, 2}, *cudnn);
  CudnnRules rules{.max_workspace = CudaLibraries::Options().attention_workspace};
  auto made = CudnnPlan::find(*cudnn, attention.graph(), rules, 1);
  ASSERT_EQ(made.size(), 1u);
  PlanStore store(::testing::TempDir() + "described_gpu_plans");
  store.keep("attention, " + made[0].engine(), "{}");
  auto again =
      CudnnPlan::recall(*cudnn, attention.graph(), made[0].engine(), rules, &store, "attention");
  ASSERT_TRUE(again);
  EXPECT_EQ(again->workspace_bytes(), made[0].workspace_bytes());
  EXPECT_EQ(store.damaged(), 1u);
  EXPECT_NE(store.find("attention, " + made[0].engine()), "{}");  // the new one is kept
}

INSTANTIATE_TEST_SUITE_P(Gpus, PlansTest,
                         ::testing::Values(DescribedGpu{"h100", h100, 90},
                                           DescribedGpu{"a100", a100, 80},
                                           DescribedGpu{"l4", l4, 89},
                                           DescribedGpu{"rtx4090", rtx4090, 89}),
                         [](const auto& instance) { return std::string(instance.param.name); });

}  // namespace
}  // namespace spire::testing
