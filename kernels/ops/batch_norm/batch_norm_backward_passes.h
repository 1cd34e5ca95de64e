// The two passes of batch normalization's backward on the CPU: one over dy and x for the sums, one
// that writes dx. With a residual behind the relu the first writes dresidual = g, which the second
// reads in the place of dy and y.
#pragma once
#include "kernels/cpu/parallel.h"
#include "kernels/float_type.h"
#include "kernels/kernel.h"
#include "kernels/ops/batch_norm/batch_norm.h"
#include "kernels/ops/batch_norm/batch_norm_formulas.h"
#include "kernels/ops/batch_norm/batch_norm_passes.h"

namespace spire::inline kernels {

template <typename T>
struct BackwardRows {
  const T *dy, *x;
  const T* y = nullptr;   // the mask from_y
  T* g = nullptr;         // dresidual, written with the mask from_y
  ChannelAffine forward;  // for the mask from_x; its center is the mean
};

// What both passes read. Inputs 0 to 4: dy, x, gamma, mean, inv_std. beta: with the mask from_x.
// Fills tables 0 to 2 of the scratch.
template <typename T>
BackwardRows<T> backward_operands(const KernelArgs& args, const ChannelTiles& tiles,
                                  const ChannelScratch& scratch, const float* beta) {
  auto vector = [&](size_t k) { return static_cast<const float*>(args.inputs[k]); };
  float *center = scratch.table(0), *scale = scratch.table(1), *shift = scratch.table(2);
  for (int64_t c = 0; c < tiles.channels; ++c) {
    center[c] = vector(3)[c];
    scale[c] = vector(2)[c] * vector(4)[c];
    if (beta) shift[c] = beta[c];
  }
  for (float* lanes : {center, scale}) repeat_lanes(tiles, lanes);
  if (beta) repeat_lanes(tiles, shift);
  return {.dy = static_cast<const T*>(args.inputs[0]),
          .x = static_cast<const T*>(args.inputs[1]),
          .forward = {center, scale, shift}};
}

// g of the elements from i on, in lanes from j on.
template <ReluMask mask, typename T>
inline FloatLanes masked(const BackwardRows<T>& p, int64_t i, int64_t j, int count) {
  FloatLanes g = load_floats(p.dy + i, count);
  if constexpr (mask == ReluMask::from_y) g = load_floats(p.y + i, count) > 0 ? g : FloatLanes{};
  if constexpr (mask == ReluMask::from_x) {
    g = affine(load_floats(p.x + i, count), p.forward, j, count) > 0 ? g : FloatLanes{};
  }
  return g;
}

template <typename T>
inline FloatLanes deviation(const BackwardRows<T>& p, int64_t i, int64_t j, int count) {
  return load_floats(p.x + i, count) - load_floats(p.forward.center + j, count);
}

// sums += (sum g, sum g (x - mean)) of rows [begin, end); writes g where it is an output.
template <ReluMask mask, typename T>
void add_gradients(const ChannelTiles& tiles, BackwardRows<T> p, int64_t begin, int64_t end,
                   float* first, float* second, double* sums) {
  int64_t channels = tiles.channels;
  for (int64_t b = begin; b < end; b += tiles.block_rows) {
    int64_t e = std::min(end, b + tiles.block_rows);
    std::fill_n(first, tiles.width, 0.0f);
    std::fill_n(second, tiles.width, 0.0f);
    add_terms(b * channels, e * channels, tiles.width, first, second,
              [=](int64_t i, int64_t j, auto count) {
                FloatLanes g = masked<mask>(p, i, j, count);
                if constexpr (mask == ReluMask::from_y) store_floats(g, p.g + i, count);
                return TwoTerms{g, g * deviation(p, i, j, count)};
              });
    fold_lanes(tiles, first);
    fold_lanes(tiles, second);
    for (int64_t c = 0; c < channels; ++c) {
      sums[c] += static_cast<double>(first[c]);
      sums[channels + c] += static_cast<double>(second[c]);
    }
  }
}

// scratch's totals = (sum g, sum g (x - mean)) of all rows; writes g where it is an output.
template <ReluMask mask, typename T>
void sum_gradients(const ChannelTiles& tiles, int threads, BackwardRows<T> p,
                   const ChannelScratch& scratch) {
  scratch.clear_sums();
  parallel_for(threads, tiles.rows, tiles.block_rows, [&](int64_t begin, int64_t end, int k) {
    add_gradients<mask>(tiles, p, begin, end, scratch.lanes(k, 0), scratch.lanes(k, 1),
                        scratch.sums(k));
  });
}

// From scratch's totals.
inline ChannelGradients channel_gradients(const ChannelScratch& scratch, int64_t channel,
                                          float inv_std) {
  return channel_gradients(scratch.total(0, channel), scratch.total(1, channel), inv_std);
}

// Tables 3 and 4, the slope and offset of write_dx, from gradients over all n rows.
inline void set_slope(const ChannelScratch& scratch, int64_t channel, float inv_std,
                      ChannelGradients gradients, double n) {
  DxMap map = dx_map(scratch.table(1)[channel], inv_std, gradients, n);
  scratch.table(3)[channel] = map.slope;
  scratch.table(4)[channel] = map.offset;
}

// dx = scale g + slope (x - mean) + offset, over all rows; slope and offset need their first lanes
// set.
template <ReluMask mask, typename T>
void write_dx(const ChannelTiles& tiles, int threads, BackwardRows<T> p,
              const ChannelScratch& scratch, T* dx) {
  static_assert(mask != ReluMask::from_y, "the first pass has written g");
  for (int table : {3, 4}) repeat_lanes(tiles, scratch.table(table));
  const float *slope = scratch.table(3), *offset = scratch.table(4);
  parallel_for(threads, tiles.rows, tiles.block_rows, [&](int64_t begin, int64_t end, int) {
    for_each_lane(begin * tiles.channels, end * tiles.channels, tiles.width,
                  [=](int64_t i, int64_t j, auto count) {
                    FloatLanes g = masked<mask>(p, i, j, count);
                    FloatLanes scaled = load_floats(p.forward.scale + j, count) * g;
                    scaled += load_floats(slope + j, count) * deviation(p, i, j, count);
                    store_floats(scaled + load_floats(offset + j, count), dx + i, count);
                  });
  });
}

// The first pass of a kernel whose input 5 is the mask and whose output 3 is g, and its totals as
// outputs 1 and 2: dgamma and dbeta. Returns the operands of the second, which reads g if written.
template <ReluMask mask, typename T>
BackwardRows<T> first_pass(const KernelArgs& args, const ChannelTiles& tiles, int threads,
                           const ChannelScratch& scratch) {
  auto inv_std = static_cast<const float*>(args.inputs[4]);
  auto beta = mask == ReluMask::from_x ? static_cast<const float*>(args.inputs[5]) : nullptr;
  BackwardRows<T> p = backward_operands<T>(args, tiles, scratch, beta);
  if constexpr (mask == ReluMask::from_y) {
    p.y = static_cast<const T*>(args.inputs[5]);
    p.g = static_cast<T*>(args.outputs[3]);
  }
  sum_gradients<mask>(tiles, threads, p, scratch);
  for (int64_t c = 0; c < tiles.channels; ++c) {
    auto [dbeta, dgamma] = channel_gradients(scratch, c, inv_std[c]);
    static_cast<float*>(args.outputs[1])[c] = static_cast<float>(dgamma);
    static_cast<float*>(args.outputs[2])[c] = static_cast<float>(dbeta);
  }
  if constexpr (mask == ReluMask::from_y) p.dy = p.g;
  return p;
}

// Static as in typed_kernel.h. K<T, mask>(request) for the dtype of the request's input 0 and the
// mask of the attributes.
template <template <typename, ReluMask> class K>
static std::unique_ptr<Kernel> make_first_pass(const BatchNormAttributes& attributes,
                                               const KernelRequest& request) {
  return with_float_type(request.inputs[0].dtype, [&](auto type) -> std::unique_ptr<Kernel> {
    using T = decltype(type);
    if (!attributes.relu) return std::make_unique<K<T, ReluMask::none>>(request);
    if (!attributes.residual) return std::make_unique<K<T, ReluMask::from_x>>(request);
    return std::make_unique<K<T, ReluMask::from_y>>(request);
  });
}

}  // namespace spire::inline kernels
