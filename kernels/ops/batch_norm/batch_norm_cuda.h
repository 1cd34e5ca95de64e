// Grid and affine map of batch normalization's forward and backward on a GPU. For .cu files.
#pragma once
#include "kernels/cuda/channel_grid.h"
#include "kernels/kernel.h"
#include "kernels/ops/batch_norm/batch_norm.h"

namespace spire {

// Returns the grid of the kernels that sum: a warp adds up a channel's chunks in at most 32 steps.
inline ChannelGrid sums_grid(const Shape& shape) {
  return channel_grid(shape, 4, 1024);
}

// Number of rows whose terms a thread sums in fp32 before it adds them to its fp64 sums.
constexpr int group_rows = 16;

inline size_t partial_bytes(const ChannelGrid& g) {
  return static_cast<size_t>(2 * g.channels * g.chunks) * sizeof(double);
}

// Computes y before residual and relu, for a thread's channels: (x - center) scale + shift. Forward
// and the backward's mask use the same expression, so they agree on every bit.
template <int N>
struct AffineChannels {
  Pack<float, N> center, scale, shift;
  __device__ float operator()(int i, float x) const {
    return (x - center.at[i]) * scale.at[i] + shift.at[i];
  }
};

// The scale in training: gamma inv_std.
struct ScaleByInvStd {
  const float* inv_std;
  __device__ float operator()(int64_t c, float gamma) const { return gamma * inv_std[c]; }
};

template <typename Scale>
struct AffineVectors {
  const float *gamma, *beta, *mean;
  Scale scale;

  template <int N>
  __device__ AffineChannels<N> channels(int64_t c) const {
    AffineChannels<N> own{load_pack<N>(mean + c), load_pack<N>(gamma + c), load_pack<N>(beta + c)};
    for (int i = 0; i < N; ++i) own.scale.at[i] = scale(c + i, own.scale.at[i]);
    return own;
  }
};

}  // namespace spire
