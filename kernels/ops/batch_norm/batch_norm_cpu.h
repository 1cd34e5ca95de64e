// Scratch memory and affine map of batch normalization on the CPU. For its .cpp files.
#pragma once
#include "engine/device/device_memory.h"
#include "kernels/cpu/channel_tiles.h"

namespace spire {

// Coefficients of affine(), one float per lane of a tile (cpu/channel_tiles.h).
struct ChannelAffine {
  const float *center, *scale, *shift;
};

// Returns y before residual and relu: (x - center) scale + shift. The backward computes its mask by
// the same expression, so forward and backward agree on every bit.
inline FloatLanes affine(const FloatLanes& x, const ChannelAffine& map, int64_t lane, int count) {
  return (x - load_floats(map.center + lane, count)) * load_floats(map.scale + lane, count) +
         load_floats(map.shift + lane, count);
}

// Scratch memory of a run: for each chunk of rows, two fp64 sums per channel and three fp32 lane
// vectors (one element per lane of a tile); and five lane vectors for all chunks, the tables.
class ChannelScratch {
 public:
  static constexpr int tables = 5;

  ChannelScratch(const ChannelTiles& tiles, int chunks)
      : tiles_(tiles),
        chunks_(chunks),
        sums_(align_up(sizeof(double) * channels() * 2)),
        lanes_(align_up(sizeof(float) * static_cast<size_t>(tiles.width))) {}

  size_t bytes() const { return sums_ * chunks() + lanes_ * (3 * chunks() + tables); }
  void bind(void* memory) { memory_ = static_cast<std::byte*>(memory); }

  // Returns the sums (2, C) of a chunk.
  double* sums(int chunk) const {
    return reinterpret_cast<double*>(memory_ + sums_ * static_cast<size_t>(chunk));
  }
  float* lanes(int chunk, int which) const { return lane_vector(3 * chunk + which); }
  float* table(int which) const { return lane_vector(3 * chunks_ + which); }

  void clear_sums() const { std::fill_n(memory_, sums_ * chunks(), std::byte{0}); }

  // Returns sum `which` (0, 1) of a channel over all chunks, in their order.
  double total(int which, int64_t channel) const {
    double sum = 0;
    for (int chunk = 0; chunk < chunks_; ++chunk) {
      sum += sums(chunk)[which * tiles_.channels + channel];
    }
    return sum;
  }

 private:
  size_t channels() const { return static_cast<size_t>(tiles_.channels); }
  size_t chunks() const { return static_cast<size_t>(chunks_); }
  float* lane_vector(int index) const {
    return reinterpret_cast<float*>(memory_ + sums_ * chunks() +
                                    lanes_ * static_cast<size_t>(index));
  }

  ChannelTiles tiles_;
  int chunks_;
  size_t sums_, lanes_;  // bytes of a chunk's sums, and of a lane vector
  std::byte* memory_ = nullptr;
};

}  // namespace spire
