// Tests of a GPU that fails for good: what calls return, and what the engine reports.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <spire/error.h>

#include "cuda_objects.h"
#include "devices.h"
#include "engine/device/gpu_requirements.h"
#include "engine/device/stream.h"
#include "tests/base/message_of.h"

namespace spire {
namespace {

using emulation::set_lost;
using ::testing::HasSubstr;
using ::testing::StartsWith;

Category category_of(cudaError_t code) {
  try {
    check_cuda(code, "cudaEventQuery");
  } catch (const Error& error) {
    return error.category();
  }
  return Category::interrupted;
}

TEST(CudaError, FailedHardwareIsALostGpuAndAFaultOfTheProgramIsNot) {
  for (cudaError_t lost :
       {cudaErrorDevicesUnavailable, cudaErrorNoDevice, cudaErrorECCUncorrectable,
        cudaErrorNvlinkUncorrectable, cudaErrorSystemNotReady, cudaErrorUnknown,
        static_cast<cudaError_t>(226)})
    EXPECT_EQ(category_of(lost), Category::collective) << cudaGetErrorName(lost);
  for (cudaError_t fault :
       {cudaErrorInvalidValue, cudaErrorIllegalAddress, cudaErrorIllegalInstruction,
        cudaErrorMisalignedAddress, cudaErrorLaunchFailure, cudaErrorAssert, cudaErrorLaunchTimeout,
        cudaErrorInvalidDevice, cudaErrorInvalidResourceHandle})
    EXPECT_EQ(category_of(fault), Category::device) << cudaGetErrorName(fault);
  EXPECT_EQ(category_of(cudaErrorMemoryAllocation), Category::out_of_memory);
}

class EmulationLostDevice : public ::testing::Test {
 protected:
  void SetUp() override { remember_gpus(discover_cuda().devices); }
  void TearDown() override {
    set_lost(0, false);
    set_lost(1, false);
  }

  static std::string loss_of(const std::function<void()>& work) {
    return message_if_any(Category::collective, work);
  }
};

TEST_F(EmulationLostDevice, IsNamedByEachCallThatNeedsIt) {
  TestStream stream;
  TestEvent event;
  DeviceInt number;
  check_cuda(cudaEventRecord(event.get(), stream.get()), "cudaEventRecord");
  set_lost(0, true);
  void* memory = nullptr;
  std::function<cudaError_t()> calls[] = {
      [&] { return cudaStreamSynchronize(stream.get()); },
      [&] { return cudaEventSynchronize(event.get()); },
      [&] { return cudaEventQuery(event.get()); },
      [&] { return cudaMalloc(&memory, 64); },
      [&] { return cudaMemsetAsync(number.get(), 0, sizeof(int), stream.get()); },
      [] { return cudaDeviceSynchronize(); },
  };
  for (const auto& call : calls) {
    std::string text = loss_of([&] { check_cuda(call(), "call"); });
    EXPECT_THAT(text,
                StartsWith("cuda:0 (emulation, " + emulation::uuid_of(0) + ") is lost: call"));
    EXPECT_THAT(text, HasSubstr("cudaErrorECCUncorrectable"));
  }
}

TEST_F(EmulationLostDevice, IsTheCauseWhereALibraryFails) {
  EXPECT_EQ(loss_of([] { check_device("cublasLtMatmul"); }), "");
  set_lost(0, true);
  EXPECT_THAT(loss_of([] { check_device("cublasLtMatmul"); }),
              HasSubstr("is lost: cublasLtMatmul"));
}

TEST_F(EmulationLostDevice, FailsItsProbeAndTheOtherWorks) {
  probe_gpu(0);
  set_lost(1, true);
  probe_gpu(0);
  EXPECT_THAT(loss_of([] { probe_gpu(1); }), StartsWith("cuda:1 (emulation, "));
  make_current({DeviceKind::cuda, 0});
}

}  // namespace
}  // namespace spire
