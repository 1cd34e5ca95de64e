// What the passes of batch normalization share on the CPU: the affine map, and the scratch of a
// run.
#pragma once
#include "engine/device/buffer.h"
#include "kernels/cpu/channel_tiles.h"

namespace spire::inline kernels {

// Lane vectors of affine().
struct ChannelAffine {
  const float *center, *scale, *shift;
};

// y before residual and relu. The backward's mask is computed by the same expression.
inline FloatLanes affine(const FloatLanes& x, const ChannelAffine& map, int64_t lane, int count) {
  return (x - load_floats(map.center + lane, count)) * load_floats(map.scale + lane, count) +
         load_floats(map.shift + lane, count);
}

// The scratch of a run: two fp64 sums a channel for each chunk of rows, three fp32 lane vectors for
// each chunk, and lane vectors that all chunks read.
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

  // (2, C): what chunk adds up.
  double* sums(int chunk) const {
    return reinterpret_cast<double*>(memory_ + sums_ * static_cast<size_t>(chunk));
  }
  float* lanes(int chunk, int which) const { return lane_vector(3 * chunk + which); }
  float* table(int which) const { return lane_vector(3 * chunks_ + which); }

  void clear_sums() const { std::fill_n(memory_, sums_ * chunks(), std::byte{0}); }

  // Sum of `which` (0, 1) over all chunks, in order.
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
  size_t sums_, lanes_;  // bytes of one
  std::byte* memory_ = nullptr;
};

}  // namespace spire::inline kernels
