// Layer and RMS normalization on a GPU. A warp takes a row: its first pass reads it from memory,
// later passes find it in the first-level cache. The gradients of gamma and beta are summed over
// chunks of rows, then over the chunks, on a ChannelGrid. No atomics, so each sum has one order.
// All in fp32.
#include "kernels/cuda/channel_grid.h"
#include "kernels/cuda/warp_rows.h"
#include "kernels/kernel.h"
#include "kernels/ops/row_norm/row_norm.h"

namespace spire {
namespace {

// Sum of term(value) over a row, by a warp.
template <int N, typename T, typename Term>
__device__ float sum_row(const T* x, int64_t width, Term term) {
  float sum = 0;
  over_columns<N>(width, [&](int64_t c) {
    auto pack = load_pack<N>(x + c);
    for (int i = 0; i < N; ++i) sum += term(static_cast<float>(pack.at[i]));
  });
  return warp_reduce(sum, Sum{});
}

// beta, mean: with `centered` alone.
template <bool centered, int N, typename T>
__global__ void __launch_bounds__(row_threads)
    row_norm_kernel(RowExtents e, const T* x, const float* gamma, const float* beta, float epsilon,
                    T* y, float* mean_out, float* rstd_out) {
  int64_t row = row_of_warp();
  if (row >= e.rows) return;
  x += row * e.width;
  y += row * e.width;
  auto n = static_cast<float>(e.width);
  float mean = 0;
  if constexpr (centered) mean = sum_row<N>(x, e.width, [](float value) { return value; }) / n;
  auto deviation = [=](float value) { return centered ? value - mean : value; };
  float squares =
      sum_row<N>(x, e.width, [=](float value) { return deviation(value) * deviation(value); });
  float rstd = 1.0f / sqrtf(squares / n + epsilon);
  over_columns<N>(e.width, [&](int64_t c) {
    auto pack = load_pack<N>(x + c);
    auto scale = load_pack<N>(gamma + c);
    Pack<float, N> shift{};
    if constexpr (centered) shift = load_pack<N>(beta + c);
    for (int i = 0; i < N; ++i) {
      float xhat = deviation(static_cast<float>(pack.at[i])) * rstd;
      pack.at[i] = T(centered ? scale.at[i] * xhat + shift.at[i] : scale.at[i] * xhat);
    }
    store_pack(pack, y + c);
  });
  if (threadIdx.x % warp_threads != 0) return;
  if (centered) mean_out[row] = mean;
  rstd_out[row] = rstd;
}

// Sums dy xhat and dy over each chunk of rows. Launched before dx is written, as dx may be dy or x.
template <bool centered, int N, typename T>
__global__ void __launch_bounds__(channel_threads)
    row_norm_chunk_sums_kernel(ChannelGrid g, const T* dy, const T* x, const float* mean,
                               const float* rstd, float* partial) {
  ChannelSlice slice = channel_slice(g);
  float sums[centered ? 2 : 1][N] = {};
  in_batches<4>(slice.first, slice.end, g.step, [&](int64_t first, auto rows) {
    Pack<T, N> own[rows()], value[rows()];
    float m[rows()], r[rows()];
    for (int k = 0; k < rows(); ++k) {
      int64_t row = first + k * g.step, at = row * g.channels + slice.channel;
      own[k] = load_pack<N>(dy + at);
      value[k] = load_pack<N>(x + at);
      m[k] = centered ? mean[row] : 0;
      r[k] = rstd[row];
    }
    for (int k = 0; k < rows(); ++k)
      for (int i = 0; i < N; ++i) {
        auto gradient = static_cast<float>(own[k].at[i]);
        auto v = static_cast<float>(value[k].at[i]);
        sums[0][i] += gradient * ((centered ? v - m[k] : v) * r[k]);
        if constexpr (centered) sums[1][i] += gradient;
      }
  });
  add_block_rows(g, slice.row, sums);
  store_partial(g, slice, sums, partial);
}

struct StoreGradients {
  float *dgamma, *dbeta;  // dbeta: null for RMS normalization
  __device__ void operator()(int64_t c, const float* totals) const {
    dgamma[c] = totals[0];
    if (dbeta) dbeta[c] = totals[1];
  }
};

// dx may be dy or x: a lane writes only elements that it alone reads, after the last read. addend:
// may be null.
template <bool centered, int N, typename T>
__global__ void __launch_bounds__(row_threads)
    row_norm_backward_kernel(RowExtents e, const T* dy, const T* x, const float* gamma,
                             const float* mean, const float* rstd, const T* addend, T* dx) {
  // From the end, whose rows the kernel of the sums has left in the L2 cache.
  int64_t row = e.rows - 1 - row_of_warp();
  if (row < 0) return;
  dy += row * e.width;
  x += row * e.width;
  dx += row * e.width;
  if (addend) addend += row * e.width;
  auto n = static_cast<float>(e.width);
  float m = centered ? mean[row] : 0, r = rstd[row];
  // Calls visit(pack of x, i, gamma dy, xhat) for each element.
  auto over_row = [&](auto visit, auto finish) {
    over_columns<N>(e.width, [&](int64_t c) {
      auto own = load_pack<N>(dy + c), value = load_pack<N>(x + c);
      auto scale = load_pack<N>(gamma + c);
      for (int i = 0; i < N; ++i) {
        auto v = static_cast<float>(value.at[i]);
        visit(value, i, static_cast<float>(own.at[i]) * scale.at[i], (centered ? v - m : v) * r);
      }
      finish(value, c);
    });
  };
  float sum_g = 0, sum_gx = 0;
  over_row(
      [&](auto&, int, float scaled, float xhat) {
        if constexpr (centered) sum_g += scaled;
        sum_gx += scaled * xhat;
      },
      [](auto&, int64_t) {});
  float mean_g = centered ? warp_reduce(sum_g, Sum{}) / n : 0;
  float mean_gx = warp_reduce(sum_gx, Sum{}) / n;
  over_row(
      [&](auto& value, int i, float scaled, float xhat) {
        // Rounded before an addend is added: no fused multiply-add.
        value.at[i] = T(__fmul_rn(r, (centered ? scaled - mean_g : scaled) - xhat * mean_gx));
      },
      [&](auto& value, int64_t c) {
        if (addend) {
          auto other = load_pack<N>(addend + c);
          for (int i = 0; i < N; ++i)
            value.at[i] = T(static_cast<float>(value.at[i]) + static_cast<float>(other.at[i]));
        }
        store_pack(value, dx + c);
      });
}

template <bool centered>
Kernel normalize_rows_cuda(const RowNormAttributes& attributes, const KernelRequest& request) {
  RowExtents e = row_extents(request.inputs[0].shape);
  return with_packs(request.inputs[0].dtype, e.width, [&]<typename T>(T, auto pack) -> Kernel {
    constexpr int N = pack();
    return [=, epsilon = attributes.epsilon](const KernelArgs& args) {
      launch(row_norm_kernel<centered, N, T>, blocks_for(e.rows, rows_per_block), row_threads,
             args.stream, e, args.in<T>(0), args.in<float>(1),
             centered ? args.in<float>(2) : nullptr, epsilon, args.out<T>(0),
             centered ? args.out<float>(1) : nullptr, args.out<float>(centered ? 2 : 1));
    };
  });
}

// Workspace: a chunk's sums of dy xhat and of dy, (1 or 2, C, chunks) fp32.
template <bool centered>
Kernel differentiate_rows_cuda(const KernelRequest& request) {
  constexpr int sums = centered ? 2 : 1;
  ChannelGrid grid = channel_grid(request.inputs[1].shape, 4, 1024);
  RowExtents e = row_extents(request.inputs[1].shape);
  return with_packs(request.inputs[0].dtype, e.width, [&]<typename T>(T, auto pack) {
    constexpr int N = pack();
    auto run = [=](const KernelArgs& args) {
      auto dy = args.in<T>(0), x = args.in<T>(1);
      auto mean = centered ? args.in<float>(3) : nullptr, rstd = args.in<float>(centered ? 4 : 3);
      constexpr size_t last = centered ? 5 : 4;
      const T* addend = args.inputs.size() > last ? args.in<T>(last) : nullptr;
      auto partial = args.scratch<float>();
      launch(grid.width == channel_width ? row_norm_chunk_sums_kernel<centered, channel_width, T>
                                         : row_norm_chunk_sums_kernel<centered, 1, T>,
             grid.blocks(), channel_threads, args.stream, grid, dy, x, mean, rstd, partial);
      launch(row_norm_backward_kernel<centered, N, T>, blocks_for(e.rows, rows_per_block),
             row_threads, args.stream, e, dy, x, args.in<float>(2), mean, rstd, addend,
             args.out<T>(0));
      add_chunks<sums>(grid, args.stream, static_cast<const float*>(partial),
                       StoreGradients{args.out<float>(1), centered ? args.out<float>(2) : nullptr});
    };
    return Kernel(run, static_cast<size_t>(sums * grid.channels * grid.chunks) * sizeof(float));
  });
}

}  // namespace

template <>
Kernel make_cuda(const LayerNormOp& op, const KernelRequest& request) {
  return normalize_rows_cuda<true>(op.attributes(), request);
}
template <>
Kernel make_cuda(const RmsNormOp& op, const KernelRequest& request) {
  return normalize_rows_cuda<false>(op.attributes(), request);
}
template <>
Kernel make_cuda(const LayerNormBackwardOp&, const KernelRequest& request) {
  return differentiate_rows_cuda<true>(request);
}
template <>
Kernel make_cuda(const RmsNormBackwardOp&, const KernelRequest& request) {
  return differentiate_rows_cuda<false>(request);
}

}  // namespace spire
