// Grid of kernels that write a tensor (N, H, W, C) pixel by pixel; a thread writes a pack of
// channels. For .cu files.
#pragma once
#include "engine/base/shape.h"
#include "engine/device/cuda_kernel.h"
#include "kernels/cuda/divide.h"

namespace spire::inline kernels {

constexpr int pixel_threads = 256;

struct Pixel {
  int64_t sample, row, column;
  int64_t channel;  // first of the pack
  int64_t at;       // offset of the pack in the tensor, in elements
};

class PixelGrid {
 public:
  // REQUIRES: channels_a_pack divides the channels.
  PixelGrid(const Shape& nhwc, int channels_a_pack)
      : n_(nhwc.elements() / channels_a_pack),
        channels_a_pack_(channels_a_pack),
        packs_(nhwc[3] / channels_a_pack),
        width_(nhwc[2]),
        height_(nhwc[1]) {}

  unsigned blocks() const { return blocks_for(n_, pixel_threads); }

  // Returns true if there is an i-th pack.
  __device__ bool has(int64_t i) const { return i < n_; }
  __device__ Pixel pixel(int64_t i) const {
    auto [pixel, pack] = packs_.divide(i);
    auto [line, column] = width_.divide(pixel);
    auto [sample, row] = height_.divide(line);
    return {sample, row, column, pack * channels_a_pack_, i * channels_a_pack_};
  }

 private:
  int64_t n_;
  int channels_a_pack_;
  Divider packs_, width_, height_;
};

__device__ inline int64_t pixel_thread() {
  return int64_t{blockIdx.x} * pixel_threads + threadIdx.x;
}

}  // namespace spire::inline kernels
