// Batch normalization backward on the CPU, in two passes: one over dy and x sums g and g (x - mean)
// in fp64, one writes dx. With a residual behind the relu the first pass writes dresidual = g, and
// the second reads that instead of dy and y. With `sync` the first pass is a kernel of its own, and
// the sum over towers comes between.
#include "kernels/cpu/parallel.h"
#include "kernels/kernel.h"
#include "kernels/ops/batch_norm/batch_norm.h"
#include "kernels/ops/batch_norm/batch_norm_cpu.h"

namespace spire {

namespace {

template <typename T>
struct BackwardRows {
  const T *dy, *x;
  const T* y = nullptr;     // the mask from_y
  T* g = nullptr;           // dresidual, written with the mask from_y
  const T* more = nullptr;  // with the mask from_y: the second term of dy, or null
  ChannelAffine forward;    // for the mask from_x; its center is the mean
};

// Returns the operands of both passes and fills tables 0 to 2 of the scratch with center, scale and
// shift. Inputs 0 to 4: dy, x, gamma, mean, inv_std; with the mask from_x, input 5: beta.
template <ReluMask mask, typename T>
BackwardRows<T> backward_operands(const KernelArgs& args, const ChannelTiles& tiles,
                                  const ChannelScratch& scratch) {
  auto beta = mask == ReluMask::from_x ? args.in<float>(5) : nullptr;
  auto vector = [&](size_t k) { return args.in<float>(k); };
  float *center = scratch.table(0), *scale = scratch.table(1), *shift = scratch.table(2);
  for (int64_t c = 0; c < tiles.channels; ++c) {
    center[c] = vector(3)[c];
    scale[c] = vector(2)[c] * vector(4)[c];
    if (beta) shift[c] = beta[c];
  }
  for (float* lanes : {center, scale}) repeat_lanes(tiles, lanes);
  if (beta) repeat_lanes(tiles, shift);
  return {.dy = args.in<T>(0), .x = args.in<T>(1), .forward = {center, scale, shift}};
}

// Returns g = dy, masked, of the elements from i on, in lanes from j on.
template <ReluMask mask, typename T>
inline FloatLanes masked(const BackwardRows<T>& p, int64_t i, int64_t j, int count) {
  will_read(p.dy + i);
  if constexpr (mask == ReluMask::from_y) will_read(p.y + i);
  FloatLanes g = load_floats(p.dy + i, count);
  if constexpr (mask == ReluMask::from_y)
    if (p.more) g = rounded_to<T>(g + load_floats(p.more + i, count));
  if constexpr (mask == ReluMask::from_y) g = load_floats(p.y + i, count) > 0 ? g : FloatLanes{};
  if constexpr (mask == ReluMask::from_x) {
    g = affine(load_floats(p.x + i, count), p.forward, j, count) > 0 ? g : FloatLanes{};
  }
  return g;
}

template <typename T>
inline FloatLanes deviation(const BackwardRows<T>& p, int64_t i, int64_t j, int count) {
  will_read(p.x + i);
  return load_floats(p.x + i, count) - load_floats(p.forward.center + j, count);
}

// sums += (sum g, sum g (x - mean)) of rows [begin, end), fp32 within a block of rows and fp64 over
// blocks. Writes g where it is an output.
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
                if constexpr (mask == ReluMask::from_y) {
                  will_write(p.g + i);
                  store_floats(g, p.g + i, count);
                }
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

// Sets the scratch's totals to (sum g, sum g (x - mean)) of all rows; writes g where it is an
// output.
template <ReluMask mask, typename T>
void sum_gradients(const ChannelTiles& tiles, int threads, BackwardRows<T> p,
                   const ChannelScratch& scratch) {
  scratch.clear_sums();
  parallel_for(threads, tiles.rows, tiles.block_rows, [&](int64_t begin, int64_t end, int k) {
    add_gradients<mask>(tiles, p, begin, end, scratch.lanes(k, 0), scratch.lanes(k, 1),
                        scratch.sums(k));
  });
}

// Returns dbeta and dgamma from the scratch's totals.
ChannelGradients gradients_of(const ChannelScratch& scratch, int64_t channel, float inv_std) {
  return channel_gradients(scratch.total(0, channel), scratch.total(1, channel), inv_std);
}

// Sets tables 3 and 4, slope and offset of write_dx, from gradients over all n rows.
void set_slope(const ChannelScratch& scratch, int64_t channel, float inv_std,
               ChannelGradients gradients, double n) {
  DxMap map = dx_map(scratch.table(1)[channel], inv_std, gradients, n);
  scratch.table(3)[channel] = map.slope;
  scratch.table(4)[channel] = map.offset;
}

// dx = scale g + slope (x - mean) + offset, over all rows. Tables 3 and 4 have one value a channel;
// this repeats them over the lanes.
template <ReluMask mask, typename T>
void write_dx(const ChannelTiles& tiles, int threads, BackwardRows<T> p,
              const ChannelScratch& scratch, T* dx) {
  static_assert(mask != ReluMask::from_y, "the first pass has written g");
  for (int table : {3, 4}) repeat_lanes(tiles, scratch.table(table));
  const float *slope = scratch.table(3), *offset = scratch.table(4);
  parallel_for(threads, tiles.rows, tiles.block_rows, [&](int64_t begin, int64_t end, int) {
    for_each_lane(begin * tiles.channels, end * tiles.channels, tiles.width,
                  [=](int64_t i, int64_t j, auto count) {
                    will_write(dx + i);
                    FloatLanes g = masked<mask>(p, i, j, count);
                    FloatLanes scaled = load_floats(p.forward.scale + j, count) * g;
                    scaled += load_floats(slope + j, count) * deviation(p, i, j, count);
                    store_floats(scaled + load_floats(offset + j, count), dx + i, count);
                  });
  });
}

// Runs the first pass of a kernel whose input 5 is the mask and whose output 3 is g, and writes
// outputs 1 and 2, dgamma and dbeta. Returns the operands of the second pass, which reads g instead
// of dy where g is written.
template <ReluMask mask, typename T>
BackwardRows<T> first_pass(const KernelArgs& args, const ChannelTiles& tiles, int threads,
                           const ChannelScratch& scratch) {
  auto inv_std = args.in<float>(4);
  BackwardRows<T> p = backward_operands<mask, T>(args, tiles, scratch);
  if constexpr (mask == ReluMask::from_y) {
    p.y = args.in<T>(5);
    p.g = args.out<T>(3);
    if (args.inputs.size() > 6) p.more = args.in<T>(6);
  }
  sum_gradients<mask>(tiles, threads, p, scratch);
  for (int64_t c = 0; c < tiles.channels; ++c) {
    auto [dbeta, dgamma] = gradients_of(scratch, c, inv_std[c]);
    args.out<float>(1)[c] = static_cast<float>(dgamma);
    args.out<float>(2)[c] = static_cast<float>(dbeta);
  }
  if constexpr (mask == ReluMask::from_y) p.dy = p.g;
  return p;
}

// Returns make(T{}, mask) for the dtype of the request's input 0 and the attributes' mask.
template <typename Make>
Kernel with_mask(const BatchNormAttributes& attributes, const KernelRequest& request,
                 const Make& make) {
  return with_float_type(request.inputs[0].dtype, [&](auto type) {
    return with_relu_mask(attributes, [&](auto mask) { return make(type, mask); });
  });
}

}  // namespace

template <>
Kernel make_cpu(const BatchNormBackwardOp& op, const KernelRequest& request) {
  return with_mask(op.attributes(), request, [&]<typename T>(T, auto relu_mask) {
    constexpr ReluMask mask = relu_mask();
    ChannelTiles tiles(request.inputs[0].shape);
    bool sync = op.attributes().sync;
    ChannelScratch scratch(tiles, sync ? 0 : request.threads);
    auto run = [=, threads = request.threads](const KernelArgs& args) mutable {
      scratch.bind(args.workspace);
      const double* sums = sync ? args.in<double>(args.inputs.size() - 1) : nullptr;
      BackwardRows<T> p = sums ? backward_operands<mask, T>(args, tiles, scratch)
                               : first_pass<mask, T>(args, tiles, threads, scratch);
      auto inv_std = args.in<float>(4);
      int64_t channels = tiles.channels;
      double n = std::max(sums ? sums[2 * channels] : static_cast<double>(tiles.rows), 1.0);
      for (int64_t c = 0; c < channels; ++c) {
        ChannelGradients own =
            sums ? ChannelGradients{.dbeta = sums[c], .dgamma = sums[channels + c]}
                 : gradients_of(scratch, c, inv_std[c]);
        set_slope(scratch, c, inv_std[c], own, n);
      }
      write_dx<second_mask(mask)>(tiles, threads, p, scratch, args.out<T>(0));
    };
    return Kernel(run, scratch.bytes());
  });
}

template <>
Kernel make_cpu(const BatchNormGradientSumsOp& op, const KernelRequest& request) {
  return with_mask(op.attributes(), request, [&]<typename T>(T, auto relu_mask) {
    constexpr ReluMask mask = relu_mask();
    ChannelTiles tiles(request.inputs[0].shape);
    ChannelScratch scratch(tiles, request.threads);
    auto run = [=, threads = request.threads](const KernelArgs& args) mutable {
      scratch.bind(args.workspace);
      first_pass<mask, T>(args, tiles, threads, scratch);
      auto inv_std = args.in<float>(4);
      auto sums = args.out<double>(0);
      for (int64_t c = 0; c < tiles.channels; ++c) {
        auto [dbeta, dgamma] = gradients_of(scratch, c, inv_std[c]);
        sums[c] = dbeta;
        sums[tiles.channels + c] = dgamma;
      }
      sums[2 * tiles.channels] = static_cast<double>(tiles.rows);
    };
    return Kernel(run, scratch.bytes());
  });
}

}  // namespace spire
