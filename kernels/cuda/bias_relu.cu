#include "kernels/cuda/bias_relu.h"
#include "kernels/cuda/channel_grid.h"
#include "kernels/float_type.h"

namespace spire::inline kernels {
namespace {

// A functor of map_channels: loads the biases of a thread's channels once, then maps its rows.
struct BiasRelu {
  const float* b;
  bool relu;

  template <int N>
  __device__ Pack<float, N> channels(int64_t c) const {
    return b ? load_pack<N>(b + c) : Pack<float, N>{};
  }
  template <int N>
  __device__ float value(const Pack<float, N>& own, int i, const float* in) const {
    float sum = in[0] + own.at[i];
    return relu && sum < 0 ? 0.0f : sum;
  }
};

}  // namespace

void add_bias_relu(const TensorSpec& spec, const float* b, bool relu, void* y, void* stream) {
  with_cuda_float_type(spec.dtype, [&](auto type) {
    using T = decltype(type);
    auto* values = static_cast<T*>(y);
    map_channels(map_grid(spec.shape), stream, Streams<T, 1>{{values}}, BiasRelu{b, relu}, values);
  });
}

}  // namespace spire::inline kernels
