// The two passes of batch normalization's backward on GPUs: one over dy and x for the sums, one
// that writes dx. With a residual behind the relu the first writes dresidual = g, which the second
// reads in the place of dy and y. For .cu files.
#pragma once
#include "kernels/float_type.h"
#include "kernels/ops/batch_norm/batch_norm_forward_cuda.h"

namespace spire::inline kernels {

using TrainingVectors = AffineVectors<ScaleByInvStd>;

template <typename T>
struct GradientStreams {
  const T *dy, *x;
  const T* y = nullptr;  // the mask from_y
  T* g = nullptr;        // dresidual, written with the mask from_y
};

// Partial sums of g and g (x - mean), as add_chunks takes them; fp32 within a group of rows. Writes
// g where it is an output. With no mask from_x gamma and beta are not used.
template <ReluMask mask, int N, typename T>
__global__ void __launch_bounds__(channel_threads)
    gradient_sums_kernel(ChannelGrid grid, GradientStreams<T> streams, TrainingVectors vectors,
                         double* partial) {
  constexpr bool from_y = mask == ReluMask::from_y;
  ChannelPlace place = channel_place(grid);
  AffineChannels<N> forward{};
  if (place.inside && mask == ReluMask::from_x)
    forward = vectors.template channels<N>(place.channel);
  if (place.inside && mask != ReluMask::from_x)
    forward.center = load_pack<N>(vectors.mean + place.channel);
  double sums[2][N] = {};
  for (int64_t group = place.first, end = 0; group < place.end; group = end) {
    end = group + group_rows * int64_t{grid.step};
    if (end > place.end) end = place.end;
    float first[N] = {}, second[N] = {};
    in_batches<4>(group, end, grid.step, [&](int64_t row, auto rows) {
      int64_t at = row * grid.channels + place.channel, stride = grid.step * grid.channels;
      Pack<T, N> dy[rows()], x[rows()];
      [[maybe_unused]] Pack<T, N> y[rows()];  // the mask from_y
      for (int r = 0; r < rows(); ++r) {
        dy[r] = load_pack<N>(streams.dy + at + r * stride);
        x[r] = load_pack<N>(streams.x + at + r * stride);
        if constexpr (from_y) y[r] = load_pack<N>(streams.y + at + r * stride);
      }
      for (int r = 0; r < rows(); ++r) {
        for (int i = 0; i < N; ++i) {
          auto g = static_cast<float>(dy[r].at[i]), v = static_cast<float>(x[r].at[i]);
          if constexpr (mask == ReluMask::from_x) g = forward(i, v) > 0 ? g : 0.0f;
          if constexpr (from_y) dy[r].at[i] = g = static_cast<float>(y[r].at[i]) > 0 ? g : 0.0f;
          first[i] += g;
          second[i] += g * (v - forward.center.at[i]);
        }
        if constexpr (from_y) store_pack(dy[r], streams.g + at + r * stride);
      }
    });
    for (int i = 0; i < N; ++i) {
      sums[0][i] += static_cast<double>(first[i]);
      sums[1][i] += static_cast<double>(second[i]);
    }
  }
  add_block_rows(grid, place.row, sums);
  store_partial(grid, place, sums, partial);
}

// What both passes read of each channel. Inputs 2 to 4: gamma, mean, inv_std. beta: with the mask
// from_x.
inline TrainingVectors training_vectors(const KernelArgs& args, const void* beta) {
  auto vector = [&](size_t k) { return static_cast<const float*>(args.inputs[k]); };
  return {vector(2), static_cast<const float*>(beta), vector(3), {vector(4)}};
}

// A kernel's first pass: input 5 is the mask, output 3 is g. finish(c, {sum g, sum g (x - mean)})
// for each channel. Returns what the second pass reads in the place of dy: g if written.
template <ReluMask mask, typename T, typename Finish>
const T* sum_gradients(const ChannelGrid& g, const KernelArgs& args, double* partial,
                       Finish finish) {
  GradientStreams<T> streams{static_cast<const T*>(args.inputs[0]),
                             static_cast<const T*>(args.inputs[1])};
  if constexpr (mask == ReluMask::from_y) {
    streams.y = static_cast<const T*>(args.inputs[5]);
    streams.g = static_cast<T*>(args.outputs[3]);
  }
  launch(g.width == channel_width ? gradient_sums_kernel<mask, channel_width, T>
                                  : gradient_sums_kernel<mask, 1, T>,
         g.blocks(), channel_threads, args.stream, g, streams,
         training_vectors(args, mask == ReluMask::from_x ? args.inputs[5] : nullptr), partial);
  add_chunks<2>(g, args.stream, static_cast<const double*>(partial), finish);
  return mask == ReluMask::from_y ? streams.g : streams.dy;
}

// dx of g, which is dy behind the mask, and x.
template <ReluMask mask>
struct WriteDx {
  static_assert(mask != ReluMask::from_y, "the first pass has written g");
  TrainingVectors vectors;
  const float *slope, *offset;

  template <int N>
  struct Channels {
    AffineChannels<N> forward;
    Pack<float, N> slope, offset;
  };

  template <int N>
  __device__ Channels<N> channels(int64_t c) const {
    Channels<N> own{{}, load_pack<N>(slope + c), load_pack<N>(offset + c)};
    if constexpr (mask == ReluMask::from_x) {
      own.forward = vectors.template channels<N>(c);
    } else {
      own.forward.center = load_pack<N>(vectors.mean + c);
      for (int i = 0; i < N; ++i)
        own.forward.scale.at[i] = vectors.scale(c + i, vectors.gamma[c + i]);
    }
    return own;
  }

  template <int N>
  __device__ float value(const Channels<N>& own, int i, const float* in) const {
    float g = in[0];
    if constexpr (mask == ReluMask::from_x) g = own.forward(i, in[1]) > 0 ? g : 0.0f;
    float deviation = in[1] - own.forward.center.at[i];
    return own.forward.scale.at[i] * g + own.slope.at[i] * deviation + own.offset.at[i];
  }
};

// K<T, mask>(request) for the dtype of the request's input 0 and the mask of the attributes.
template <template <typename, ReluMask> class K>
static std::unique_ptr<Kernel> make_first_pass_cuda(const BatchNormAttributes& attributes,
                                                    const KernelRequest& request) {
  return with_cuda_float_type(request.inputs[0].dtype, [&](auto type) -> std::unique_ptr<Kernel> {
    using T = decltype(type);
    if (!attributes.relu) return std::make_unique<K<T, ReluMask::none>>(request);
    if (!attributes.residual) return std::make_unique<K<T, ReluMask::from_x>>(request);
    return std::make_unique<K<T, ReluMask::from_y>>(request);
  });
}

}  // namespace spire::inline kernels
