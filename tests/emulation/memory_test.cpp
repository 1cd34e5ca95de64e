// Memory of the emulation: copies, pinned memory, and how much there is.
#include <gtest/gtest.h>
#include <spire/base/error.h>
#include <spire/device/cuda_launch.h>
#include <spire/device/device_memory.h>
#include <tests/emulation/cuda_objects.h>
#include <tests/emulation/devices.h>

namespace spire {
namespace {

constexpr int tries = 64;

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

// cudaMemcpy of memory that is not pinned has read it when it returns, no more.
TEST(EmulationMemory, OtherStreamsWaitForAStagedCopy) {
  TestStream stream;
  DeviceInt number, read;
  int right = 0, right_after_waiting = 0;
  for (int i = 0; i < 2 * tries; ++i) {
    bool waits = i < tries;
    check_cuda(cudaMemcpy(number.get(), &i, sizeof i, cudaMemcpyHostToDevice), "cudaMemcpy");
    if (waits) check_cuda(cudaStreamSynchronize(nullptr), "cudaStreamSynchronize");
    launch(copy_one, 1, 1, stream.get(), read.get(), number.get());
    check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    (waits ? right_after_waiting : right) += read.value() == i;
  }
  EXPECT_EQ(right_after_waiting, tries);
  EXPECT_LT(right, tries);
}

TEST(EmulationMemory, CopiesStayInsideAndGoTheirWay) {
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

TEST(EmulationMemory, ADeviceCanBeFull) {
  size_t before = emulation::memory_limit(0), free_bytes = 0, total = 0;
  ASSERT_EQ(cudaMemGetInfo(&free_bytes, &total), cudaSuccess);
  size_t used = total - free_bytes;
  emulation::set_memory_limit(0, used + 1000);
  DeviceId device{DeviceKind::cuda, 0};
  auto memory = allocate_memory(device, 600);
  ASSERT_EQ(cudaMemGetInfo(&free_bytes, &total), cudaSuccess);
  EXPECT_EQ(free_bytes, 400u);
  try {
    allocate_memory(device, 401);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.category(), Category::out_of_memory);
    EXPECT_NE(std::string(error.what()).find("cuda:0: 0.00 GiB asked for"), std::string::npos)
        << error.what();
  }
  EXPECT_NO_THROW(allocate_memory({DeviceKind::cuda, 1}, 401));
  memory.reset();
  EXPECT_NO_THROW(allocate_memory(device, 1000));
  emulation::set_memory_limit(0, before);
}

}  // namespace
}  // namespace spire
