// Tests of emulated memory: copies, pinned memory and limits.
#include <gtest/gtest.h>
#include <tests/emulation/cuda_objects.h>
#include <tests/emulation/devices.h>

#include <spire/error.h>

#include "engine/config/text.h"
#include "engine/device/cuda_kernel.h"
#include "engine/device/memory_pool.h"
#include "engine/inference/predictor.h"
#include "tests/base/message_of.h"
#include "tests/train/small_run.h"

namespace spire {
namespace {

constexpr int copy_tries = 64;

__global__ void copy_one(int* out, const int* in) {
  *out = *in;
}

class PinnedInt {
 public:
  PinnedInt() {
    void* memory = nullptr;
    check_cuda(cudaMallocHost(&memory, sizeof(int)), "cudaMallocHost");
    number_ = static_cast<int*>(memory);
  }
  PinnedInt(const PinnedInt&) = delete;
  ~PinnedInt() { cudaFreeHost(number_); }
  int* get() const { return number_; }

 private:
  int* number_ = nullptr;
};

void upload(const DeviceInt& to, const int* from, const TestStream& stream) {
  check_cuda(cudaMemcpyAsync(to.get(), from, sizeof(int), cudaMemcpyHostToDevice, stream.get()),
             "cudaMemcpyAsync");
}

TEST(EmulationMemory, APinnedSourceChangedTooEarlyShows) {
  TestStream stream;
  DeviceInt number;
  PinnedInt source;
  *source.get() = 1;
  upload(number, source.get(), stream);
  *source.get() = 2;
  ASSERT_EQ(cudaStreamSynchronize(stream.get()), cudaSuccess);
  EXPECT_EQ(number.value(), 2);
  upload(number, source.get(), stream);
  ASSERT_EQ(cudaStreamSynchronize(stream.get()), cudaSuccess);
  *source.get() = 3;
  EXPECT_EQ(number.value(), 2);
}

TEST(EmulationMemory, RegisteredMemoryIsPinned) {
  TestStream stream;
  DeviceInt number;
  int source = 1;
  upload(number, &source, stream);  // staged
  source = 2;
  ASSERT_EQ(cudaStreamSynchronize(stream.get()), cudaSuccess);
  EXPECT_EQ(number.value(), 1);
  ASSERT_EQ(cudaHostRegister(&source, sizeof source, cudaHostRegisterDefault), cudaSuccess);
  EXPECT_EQ(cudaHostRegister(&source, sizeof source, 0), cudaErrorHostMemoryAlreadyRegistered);
  upload(number, &source, stream);
  source = 3;
  ASSERT_EQ(cudaHostUnregister(&source), cudaSuccess);
  EXPECT_EQ(number.value(), 3);
  EXPECT_EQ(cudaHostUnregister(&source), cudaErrorHostMemoryNotRegistered);
}

TEST(EmulationMemory, OnlyPinnedTargetsArriveLater) {
  TestStream stream;
  DeviceInt number;
  PinnedInt pinned;
  int plain = 0;
  number.set(7);
  *pinned.get() = 0;
  auto download = [&](int* to) {
    return cudaMemcpyAsync(to, number.get(), sizeof(int), cudaMemcpyDefault, stream.get());
  };
  ASSERT_EQ(download(pinned.get()), cudaSuccess);
  EXPECT_EQ(*pinned.get(), 0);
  ASSERT_EQ(download(&plain), cudaSuccess);
  EXPECT_EQ(plain, 7);
  EXPECT_EQ(*pinned.get(), 7);
}

// cudaMemcpy from pageable memory returns when it has read it; the device's memory may be written
// later.
TEST(EmulationMemory, OtherStreamsWaitForAStagedCopy) {
  TestStream stream;
  DeviceInt number, read;
  int right = 0, right_after_waiting = 0;
  for (int i = 0; i < 2 * copy_tries; ++i) {
    bool waits = i < copy_tries;
    check_cuda(cudaMemcpy(number.get(), &i, sizeof i, cudaMemcpyHostToDevice), "cudaMemcpy");
    if (waits) check_cuda(cudaStreamSynchronize(nullptr), "cudaStreamSynchronize");
    launch(copy_one, 1, 1, stream.get(), read.get(), number.get());
    check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    (waits ? right_after_waiting : right) += read.value() == i;
  }
  EXPECT_EQ(right_after_waiting, copy_tries);
  EXPECT_LT(right, copy_tries);
}

TEST(EmulationMemory, CopiesOutOfBoundsOrOfTheWrongKindAreRefused) {
  DeviceInt number;
  int two[2] = {};
  auto copy = [&](void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
    return cudaMemcpyAsync(to, from, bytes, kind);
  };
  EXPECT_EQ(copy(number.get(), two, 8, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(copy(two, number.get(), 8, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
  EXPECT_EQ(copy(two, number.get(), 4, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(copy(two, two + 1, 4, cudaMemcpyDeviceToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemsetAsync(number.get(), 0, 5), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemsetAsync(number.get(), 1, 4), cudaSuccess);
  EXPECT_EQ(copy(two, number.get(), 4, cudaMemcpyDefault), cudaSuccess);
  EXPECT_EQ(two[0], 0x01010101);
  EXPECT_EQ(cudaFree(two), cudaErrorInvalidValue);
}

TEST(EmulationMemory, CopiesBetweenDevices) {
  DeviceInt here;
  here.set(5);
  ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
  DeviceInt there;
  TestStream stream;
  int can = 0;
  EXPECT_EQ(cudaDeviceCanAccessPeer(&can, 1, 0), cudaSuccess);
  EXPECT_EQ(can, 1);
  cudaDeviceEnablePeerAccess(0, 0);
  EXPECT_EQ(cudaDeviceEnablePeerAccess(0, 0), cudaErrorPeerAccessAlreadyEnabled);
  auto copy = [&](int from_device) {
    return cudaMemcpyPeerAsync(there.get(), 1, here.get(), from_device, sizeof(int), stream.get());
  };
  EXPECT_EQ(copy(1), cudaErrorInvalidValue);
  EXPECT_EQ(copy(0), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream.get()), cudaSuccess);
  EXPECT_EQ(there.value(), 5);
  cudaSetDevice(0);
}

// Leaves a given amount of memory on a GPU.
class AlmostFull : public ::testing::Test {
 protected:
  explicit AlmostFull(size_t left = 1000) {
    DeviceSpace space = space_of(gpu);
    emulation::set_memory_limit(gpu.index, space.total - *space.free + left);
  }
  ~AlmostFull() override { emulation::set_memory_limit(gpu.index, before_); }

  static std::string shortage_of(const std::function<void()>& action) {
    return message_if_any(Category::out_of_memory, action);
  }
  static constexpr DeviceId gpu{DeviceKind::cuda, 0};

 private:
  size_t before_ = emulation::memory_limit(gpu.index);
};

using EmulationFull = AlmostFull;

TEST_F(EmulationFull, TheDriverReportsTheFreeMemory) {
  EXPECT_EQ(space_of(gpu).free, 1000u);
  auto memory = allocate_memory(gpu, 600);
  EXPECT_EQ(space_of(gpu).free, 400u);
  EXPECT_NE(shortage_of([] {
              allocate_memory(gpu, 401);
            }).find("cuda:0: cannot allocate 401 B; 400 B of "),
            std::string::npos);
  EXPECT_NO_THROW(allocate_memory({DeviceKind::cuda, 1}, 401));
  memory.reset();
  EXPECT_NO_THROW(allocate_memory(gpu, 1000));
}

TEST_F(EmulationFull, APoolReportsTheShortageOfItsDevice) {
  std::optional<MemoryShortage> heard;
  auto explain = [&](const MemoryShortage& shortage) {
    heard = shortage;
    return std::string("too little");
  };
  MemoryPool pool(gpu, {.limit = 5000, .explain = explain});
  auto block = pool.allocate(MemoryKind::weights, 600);
  EXPECT_EQ(shortage_of([&] { pool.allocate(MemoryKind::gradients, 401); }), "too little");
  ASSERT_TRUE(heard);
  EXPECT_EQ(heard->free, 400u);
  EXPECT_EQ(heard->left(), 400u);
  EXPECT_EQ(heard->in_use, (MemoryUse{{MemoryKind::weights, 600}}));
  EXPECT_EQ(pool.in_use(), heard->in_use);
}

TEST_F(EmulationFull, PlansOfPoolsOnOneDeviceAreAddedUp) {
  MemoryPools pools;
  for (int i = 0; i < 2; ++i) pools.push_back(std::make_unique<MemoryPool>(gpu));
  auto block = pools[0]->allocate(MemoryKind::weights, 200);
  pools[0]->plan({{MemoryKind::weights, 200}, {MemoryKind::workspace, 300}});
  pools[1]->plan({{MemoryKind::weights, 500}});
  EXPECT_FALSE(foresee_shortage(pools));
  pools[1]->plan({{MemoryKind::weights, 501}});
  auto shortage = foresee_shortage(pools);
  ASSERT_TRUE(shortage);
  EXPECT_EQ(shortage->pools, 2);
  EXPECT_EQ(shortage->asked, (MemoryUse{{MemoryKind::weights, 501}, {MemoryKind::workspace, 300}}));
  EXPECT_EQ(shortage->in_use, (MemoryUse{{MemoryKind::weights, 200}}));
  EXPECT_EQ(shortage->left(), 800u);
}

TEST_F(EmulationFull, ATrainerReportsWhatItNeedsAndAllocatesNothing) {
  SmallRun run;
  run.batch_size = 16;  // activations take most
  run.devices = {"cuda:0"};
  std::string text = shortage_of([&] { TowerTrainer trainer(run.options(), run.place()); });
  EXPECT_NE(text.find("; 1000 B of its "), std::string::npos) << text;
  EXPECT_NE(text.find("are free; set memory.recompute: blocks, "), std::string::npos) << text;
  EXPECT_NE(text.find("\nactivations  "), std::string::npos) << text;
  EXPECT_EQ(space_of(gpu).free, 1000u);
  run.devices = {"cuda:0", "cuda:0"};
  text = shortage_of([&] { TowerTrainer trainer(run.options(), run.place()); });
  EXPECT_EQ(text.find("cuda:0 (2 logical devices): "), 0u) << text;
}

TEST_F(EmulationFull, APlanIsStillMade) {
  SmallRun run;
  run.devices = {"cuda:0"};
  TowerTrainerOptions options = run.options();
  options.plan_only = true;
  TowerTrainer trainer(options, run.place());
  EXPECT_NE(trainer.memory_shortage(), "");
  EXPECT_EQ(space_of(gpu).free, 1000u);
}

TEST_F(EmulationFull, APredictorReportsWhatToDo) {
  SmallRun run;
  TrainingState state = state_after(run, 1);
  RunConfig config;
  config.model = run.model;
  state.config_yaml = to_yaml(config);
  state.data_spec = to_text(run.dataset().spec());
  std::string text = shortage_of([&] { Predictor predictor(state, state, {.device = "cuda:0"}); });
  EXPECT_EQ(text.find("cuda:0: "), 0u) << text;
  EXPECT_NE(text.find("; lower --batch, or use another --device"), std::string::npos) << text;
}

}  // namespace
}  // namespace spire
