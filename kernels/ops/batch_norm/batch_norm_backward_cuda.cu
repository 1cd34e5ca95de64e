// Batch normalization backward on a GPU: one kernel over dy and x sums g and g (x - mean) of chunks
// of rows, a small one adds up the chunks, one writes dx. With a residual behind the relu the first
// writes dresidual = g, and the last reads that instead of dy and y. With `sync` the sum over
// towers comes between.
#include "kernels/kernel.h"
#include "kernels/ops/batch_norm/batch_norm_cuda.h"

namespace spire {

namespace {

using TrainingVectors = AffineVectors<ScaleByInvStd>;

template <typename T>
struct GradientStreams {
  const T *dy, *x;
  const T* y = nullptr;     // the mask from_y
  T* g = nullptr;           // dresidual, written with the mask from_y
  const T* more = nullptr;  // with the mask from_y: the second term of dy, or null
};

// Partial sums of g and g (x - mean), in the layout of add_chunks; fp32 within a group of rows,
// fp64 over groups. Writes g where it is an output. gamma and beta are read with the mask from_x
// only.
template <ReluMask mask, int N, typename T>
__global__ void __launch_bounds__(channel_threads)
    gradient_sums_kernel(ChannelGrid grid, GradientStreams<T> streams, TrainingVectors vectors,
                         double* partial) {
  constexpr bool from_y = mask == ReluMask::from_y;
  ChannelSlice place = channel_slice(grid);
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
      if (from_y && streams.more) {
        for (int r = 0; r < rows(); ++r) {
          auto more = load_pack<N>(streams.more + at + r * stride);
          for (int i = 0; i < N; ++i)
            dy[r].at[i] = T(static_cast<float>(dy[r].at[i]) + static_cast<float>(more.at[i]));
        }
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

// Returns the channel vectors of both passes. Inputs 2 to 4: gamma, mean, inv_std; with the mask
// from_x, input 5: beta.
inline TrainingVectors training_vectors(const KernelArgs& args, ReluMask mask) {
  auto vector = [&](size_t k) { return args.in<float>(k); };
  return {vector(2), mask == ReluMask::from_x ? vector(5) : nullptr, vector(3), {vector(4)}};
}

// Runs the first pass of a kernel whose input 5 is the mask and whose output 3 is g, and calls
// finish(c, {sum g, sum g (x - mean)}) for each channel. Returns g if it is written, else dy: the
// second pass reads that.
template <ReluMask mask, typename T, typename Finish>
const T* sum_gradients(const ChannelGrid& g, const KernelArgs& args, double* partial,
                       Finish finish) {
  GradientStreams<T> streams{args.in<T>(0), args.in<T>(1)};
  if constexpr (mask == ReluMask::from_y) {
    streams.y = args.in<T>(5);
    streams.g = args.out<T>(3);
    if (args.inputs.size() > 6) streams.more = args.in<T>(6);
  }
  launch(g.width == channel_width ? gradient_sums_kernel<mask, channel_width, T>
                                  : gradient_sums_kernel<mask, 1, T>,
         g.blocks(), channel_threads, args.stream, g, streams, training_vectors(args, mask),
         partial);
  add_chunks<2>(g, args.stream, static_cast<const double*>(partial), finish);
  return mask == ReluMask::from_y ? streams.g : streams.dy;
}

// dx = scale g + slope (x - mean) + offset, as map_channels takes it; g is dy behind the mask.
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

// Returns make(T{}, mask) for the dtype of the request's input 0 and the attributes' mask.
template <typename Make>
Kernel with_mask_cuda(const BatchNormAttributes& attributes, const KernelRequest& request,
                      const Make& make) {
  return with_any_float_type(request.inputs[0].dtype, [&](auto type) {
    return with_relu_mask(attributes, [&](auto mask) { return make(type, mask); });
  });
}

struct FinishGradients {
  const float *gamma, *inv_std;
  double rows;
  float *dgamma, *dbeta, *slope, *offset;

  __device__ void operator()(int64_t c, const double* totals) const {
    auto gradients = channel_gradients(totals[0], totals[1], inv_std[c]);
    dgamma[c] = static_cast<float>(gradients.dgamma);
    dbeta[c] = static_cast<float>(gradients.dbeta);
    DxMap map = dx_map(gamma[c] * inv_std[c], inv_std[c], gradients, rows);
    slope[c] = map.slope;
    offset[c] = map.offset;
  }
};

struct FinishSums {
  const float* inv_std;
  int64_t channels, rows;
  float *dgamma, *dbeta;
  double* sums;

  __device__ void operator()(int64_t c, const double* totals) const {
    auto gradients = channel_gradients(totals[0], totals[1], inv_std[c]);
    dgamma[c] = static_cast<float>(gradients.dgamma);
    dbeta[c] = static_cast<float>(gradients.dbeta);
    sums[c] = gradients.dbeta;
    sums[channels + c] = gradients.dgamma;
    if (c == 0) sums[2 * channels] = static_cast<double>(rows);
  }
};

// Computes slope and offset of each channel from the sums over all towers.
__global__ void __launch_bounds__(channel_threads)
    dx_map_kernel(int64_t channels, const float* gamma, const float* inv_std, const double* sums,
                  float* slope, float* offset) {
  int64_t c = int64_t{blockIdx.x} * channel_threads + threadIdx.x;
  if (c >= channels) return;
  double rows = sums[2 * channels];
  DxMap map = dx_map(gamma[c] * inv_std[c], inv_std[c],
                     {.dbeta = sums[c], .dgamma = sums[channels + c]}, rows > 1 ? rows : 1);
  slope[c] = map.slope;
  offset[c] = map.offset;
}

}  // namespace

// Workspace: partial sums, without `sync`; slope, offset, each at a multiple of 16 bytes where rows
// take packs.
template <>
Kernel make_cuda(const BatchNormBackwardOp& op, const KernelRequest& request) {
  return with_mask_cuda(op.attributes(), request, [&]<typename T>(T, auto relu_mask) {
    constexpr ReluMask mask = relu_mask(), second = second_mask(mask);
    ChannelGrid sums = sums_grid(request.inputs[0].shape), map = map_grid(request.inputs[0].shape);
    bool sync = op.attributes().sync;
    size_t partial = sync ? 0 : partial_bytes(sums);
    auto run = [=](const KernelArgs& args) {
      auto slope = reinterpret_cast<float*>(args.scratch<std::byte>() + partial);
      float* offset = slope + sums.channels;
      auto vectors = training_vectors(args, second);
      const T* g = args.in<T>(0);
      if (sync)
        launch(dx_map_kernel, blocks_for(map.channels, channel_threads), channel_threads,
               args.stream, map.channels, vectors.gamma, vectors.scale.inv_std,
               args.in<double>(args.inputs.size() - 1), slope, offset);
      else
        g = sum_gradients<mask, T>(
            sums, args, args.scratch<double>(),
            FinishGradients{vectors.gamma, vectors.scale.inv_std,
                            static_cast<double>(larger<int64_t>(sums.rows, 1)), args.out<float>(1),
                            args.out<float>(2), slope, offset});
      map_channels(map, args.stream, Streams<T, 2>{{g, args.in<T>(1)}},
                   WriteDx<second>{vectors, slope, offset}, args.out<T>(0));
    };
    return Kernel(run, partial + 2 * static_cast<size_t>(sums.channels) * sizeof(float));
  });
}

template <>
Kernel make_cuda(const BatchNormGradientSumsOp& op, const KernelRequest& request) {
  return with_mask_cuda(op.attributes(), request, [&]<typename T>(T, auto relu_mask) {
    constexpr ReluMask mask = relu_mask();
    ChannelGrid grid = sums_grid(request.inputs[0].shape);
    auto run = [grid](const KernelArgs& args) {
      sum_gradients<mask, T>(
          grid, args, args.scratch<double>(),
          FinishSums{args.in<float>(4), grid.channels, grid.rows, args.out<float>(1),
                     args.out<float>(2), args.out<double>(0)});
    };
    return Kernel(run, partial_bytes(grid));
  });
}

}  // namespace spire
