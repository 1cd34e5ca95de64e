// The emulation itself: that it runs what CUDA runs, and finds what would be wrong there.
#include <numeric>
#include <vector>

#include <gmock/gmock.h>
#include <tests/base/message_of.h>
#include <tests/emulation/cuda_objects.h>

#include <spire/error.h>

#include "engine/device/cuda_kernel.h"

namespace spire {
namespace {

__global__ void write_index(int* out) {
  unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  unsigned threads = blockDim.x * blockDim.y * blockDim.z;
  out[block * threads + thread] += static_cast<int>(block * threads + thread);
}

// Each thread hands its number to the next one round.
template <bool barrier>
__global__ void rotate(int rounds, int* out) {
  __shared__ int held[256];
  held[threadIdx.x] = static_cast<int>(threadIdx.x);
  for (int round = 0; round < rounds; ++round) {
    if (barrier) __syncthreads();
    int next = held[(threadIdx.x + 1) % blockDim.x];
    if (barrier) __syncthreads();
    held[threadIdx.x] = next;
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = held[threadIdx.x];
}

__global__ void reduce(const int* in, int* sums, int* maxima) {
  int value = in[blockIdx.x * 256 + threadIdx.x];
  int sum = block_reduce<256>(value, Sum{});
  int maximum = block_reduce<256>(value, Maximum{});
  sums[blockIdx.x * 256 + threadIdx.x] = sum;
  maxima[blockIdx.x * 256 + threadIdx.x] = maximum;
}

__global__ void shuffle(int* out) {
  int lane = static_cast<int>(threadIdx.x % 32);
  int* row = out + threadIdx.x * 6;
  row[0] = __shfl_sync(full_warp, lane, 5);
  row[1] = __shfl_xor_sync(full_warp, lane, 3);
  row[2] = __shfl_down_sync(full_warp, lane, 4);
  row[3] = __shfl_up_sync(full_warp, lane, 4);
  row[4] = __shfl_xor_sync(full_warp, lane, 2, 4);
  row[5] = static_cast<int>(__ballot_sync(full_warp, lane % 3 == 0));
}

__global__ void count(int* out) {
  out[threadIdx.x] = __syncthreads_count(threadIdx.x % 5 == 0);
}

__global__ void wait_apart() {
  if (threadIdx.x % 32 < 16) {
    __syncthreads();
  } else {
    __syncwarp();
  }
}

// Launches, and waits.
template <typename... Parameters, typename... Arguments>
void run(void (*kernel)(Parameters...), dim3 grid, dim3 block, Arguments... arguments) {
  launch(kernel, grid, block, nullptr, arguments...);
  check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
}

TEST(Emulation, RunsEachThreadOfEachBlockOnce) {
  std::vector<int> out(2 * 3 * 2 * 4 * 2 * 2), want(out.size());
  std::iota(want.begin(), want.end(), 0);
  run(write_index, dim3(2, 3, 2), dim3(4, 2, 2), out.data());
  EXPECT_EQ(out, want);
}

TEST(Emulation, BarriersOrderSharedMemory) {
  std::vector<int> out(3 * 256);
  run(rotate<true>, 3, 256, 10, out.data());
  for (int i = 0; i < 3 * 256; ++i)
    EXPECT_EQ(out[static_cast<size_t>(i)], (i % 256 + 10) % 256) << i;
}

TEST(Emulation, AMissingBarrierShows) {
  std::vector<int> out(256);
  run(rotate<false>, 1, 256, 10, out.data());
  int right = 0;
  for (int i = 0; i < 256; ++i) right += out[static_cast<size_t>(i)] == (i + 10) % 256;
  EXPECT_LT(right, 64);
}

TEST(Emulation, ReductionsReachEveryThread) {
  std::vector<int> in(2 * 256), sums(in.size()), maxima(in.size());
  for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<int>(i * 37 % 101);
  run(reduce, 2, 256, in.data(), sums.data(), maxima.data());
  for (size_t block = 0; block < 2; ++block) {
    auto first = in.begin() + static_cast<std::ptrdiff_t>(block * 256), last = first + 256;
    for (size_t i = block * 256; i < (block + 1) * 256; ++i) {
      EXPECT_EQ(sums[i], std::accumulate(first, last, 0));
      EXPECT_EQ(maxima[i], *std::max_element(first, last));
    }
  }
}

TEST(Emulation, ShufflesAndVotes) {
  std::vector<int> out(64 * 6), counted(64);
  run(shuffle, 1, 64, out.data());
  for (int thread = 0; thread < 64; ++thread) {
    int lane = thread % 32;
    const int* row = out.data() + thread * 6;
    EXPECT_EQ(row[0], 5);
    EXPECT_EQ(row[1], lane ^ 3);
    EXPECT_EQ(row[2], lane + 4 < 32 ? lane + 4 : lane);
    EXPECT_EQ(row[3], lane >= 4 ? lane - 4 : lane);
    EXPECT_EQ(row[4], lane ^ 2);
    EXPECT_EQ(row[5], 0x49249249);
  }
  run(count, 1, 64, counted.data());
  for (int votes : counted) EXPECT_EQ(votes, 13);
}

TEST(Emulation, ThreadsThatWaitInVainAreAnError) {
  EXPECT_THROW(run(wait_for_one_that_left, 1, 64), Error);
  EXPECT_THROW(run(wait_apart, 1, 64), Error);
  std::vector<int> out(64);
  run(count, 1, 64, out.data());  // and the next launch is sound
  EXPECT_EQ(out[63], 13);
}

TEST(CudaError, NamesCallAndPlace) {
  EXPECT_THAT(message_of(Category::out_of_memory,
                         [] { check_cuda(cudaErrorMemoryAllocation, "cudaMalloc"); }),
              testing::HasSubstr("cudaMalloc on cuda:0 (fibres_test.cpp:"));
}

TEST(CudaError, StickyErrorsSaySo) {
  EXPECT_THAT(message_of(Category::device,
                         [] { check_cuda(cudaErrorIllegalAddress, "cudaStreamSynchronize"); }),
              testing::HasSubstr("this process cannot use the device any more"));
  EXPECT_FALSE(is_sticky(cudaErrorMemoryAllocation));
  EXPECT_NO_THROW(check_cuda(cudaSuccess, "cudaMalloc"));
}

}  // namespace
}  // namespace spire
