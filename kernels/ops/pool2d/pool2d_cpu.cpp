// Pooling on the CPU. An average over a window is oneDNN's; over all pixels a thread takes whole
// samples. Of maxima, threads share the rows of the result. Channels are contiguous and go a
// register at a time. Backward of maxima: where windows do not overlap, a window writes the pixels
// of its territory, so dx is written once; else each pixel gathers from the windows over it. The
// common 2x2 window has loops with constant ends.
#include "kernels/cpu/onednn.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/simd.h"
#include "kernels/kernel.h"
#include "kernels/ops/pool2d/pool2d.h"

namespace spire {

namespace {

using namespace onednn;
using Kind = Location::Kind;

// oneDNN's descriptors: x and y (N, H, W, C), and the window's sizes in rows and columns.
struct PoolingDescs {
  Desc x, y;
  dnnl::algorithm algorithm;
  Dims strides, kernel, dilation, padding;
};

PoolingDescs operands_of(const AvgPool2dAttributes& a, const TensorSpec& x, const TensorSpec& y) {
  return {nhwc(x),
          nhwc(y),
          a.count_include_pad ? dnnl::algorithm::pooling_avg_include_padding
                              : dnnl::algorithm::pooling_avg_exclude_padding,
          {a.stride.h, a.stride.w},
          {a.kernel.h, a.kernel.w},
          {0, 0},  // no holes
          {a.padding.h, a.padding.w}};
}

auto describe_pooling(const dnnl::engine& engine, const PoolingDescs& o) {
  return describe<PoolingForward>(engine, attributes(), dnnl::prop_kind::forward_training,
                                  o.algorithm, o.x, o.y, o.strides, o.kernel, o.dilation, o.padding,
                                  o.padding);
}

struct MaxPoolRows {
  Shape x, y;
  WindowAxes axes;
  std::vector<IndexRange> columns_over;  // of each pixel column: the window columns that cover it
};

// Pixels of x under one window, the taps over them, and their distances in memory in elements.
struct WindowView {
  IndexRange rows, columns;
  int first_tap, taps_a_row;
  int64_t pitch, channels;
};

// Returns true if every window is 2x2 and lies in x as a whole.
bool is_whole_two_by_two(const WindowAxes& axes) {
  const auto [h, w] = axes;
  return h.kernel == 2 && w.kernel == 2 && h.padding == 0 && w.padding == 0;
}
using Two = std::integral_constant<int64_t, 2>;

// One window of `rows` x `columns` pixels, `count` channels; x is at the window's first channel in
// pixel (0, 0) of its sample.
template <typename T, typename Size, typename Count>
inline void maximum(const WindowView& view, Size rows, Size columns, const T* x, T* y,
                    uint8_t* which, Count count) {
  x += view.rows.begin * view.pitch + view.columns.begin * view.channels;
  FloatLanes best = load_floats(x, count);
  IntLanes best_tap = IntLanes{} + view.first_tap;
  for (int p = 0; p < rows; ++p, x += view.pitch) {
    for (int q = 0; q < columns; ++q) {
      FloatLanes value = load_floats(x + q * view.channels, count);
      // A NaN is above all, the first maximum stays.
      IntLanes above = (value > best) | (value != value);
      best = above ? value : best;
      best_tap = above ? IntLanes{} + (view.first_tap + p * view.taps_a_row + q) : best_tap;
    }
  }
  store_floats(best, y, count);
  store_ints(best_tap, which, count);
}

// Row `row` of N * OH.
template <typename T>
void pool_row(const MaxPoolRows& pool, int64_t row, const T* x, T* y, uint8_t* which) {
  const auto [h, w] = pool.axes;
  int64_t channels = pool.x[3], i = row % h.out;
  const T* sample = x + row / h.out * h.in * w.in * channels;
  IndexRange rows = h.pixels(i);
  bool two_by_two = is_whole_two_by_two(pool.axes);
  for (int64_t j = 0; j < w.out; ++j) {
    IndexRange columns = w.pixels(j);
    int64_t first_tap = (rows.begin - h.start(i)) * w.kernel + columns.begin - w.start(j);
    WindowView view{
        rows,    columns, static_cast<int>(first_tap), static_cast<int>(w.kernel), w.in * channels,
        channels};
    int64_t at = (row * w.out + j) * channels;
    over_lanes(channels, [&](int64_t c, auto count) {
      if (two_by_two) {
        maximum(view, Two{}, Two{}, sample + c, y + at + c, which + at + c, count);
      } else {
        maximum(view, rows.size(), columns.size(), sample + c, y + at + c, which + at + c, count);
      }
    });
  }
}

// Lanes of T's bits, which are copied as they are, and of taps to compare.
template <typename T>
using BitLanes = std::conditional_t<sizeof(T) == 2, HalfLanes, IntLanes>;

inline void load_taps(const uint8_t* from, int count, IntLanes& taps) {
  taps = load_ints(from, count);
}
inline void load_taps(const uint8_t* from, int count, HalfLanes& taps) {
  taps = __builtin_convertvector(read_lanes<ByteLanes>(from, count), HalfLanes);
}

// Writes the `rows` x `columns` pixels of one window's territory from dx on, `count` channels: dy
// where the window's maximum was, else zero. The tap over dx is `first`. Neighbours lie `spread`
// apart.
template <typename T, typename Size, typename Count>
inline void scatter(Extent2d kernel, Extent2d first, Size rows, Size columns, Extent2d spread,
                    const T* dy, const uint8_t* which, T* dx, Count count) {
  using Lanes = BitLanes<T>;
  auto gradient = read_lanes<Lanes>(dy, count);
  Lanes winner;
  load_taps(which, count, winner);
  for (int64_t p = 0; p < rows; ++p) {
    for (int64_t q = 0; q < columns; ++q) {
      int64_t r = first.h + p, s = first.w + q;
      int64_t tap = r < kernel.h && s < kernel.w ? r * kernel.w + s : -1;
      auto here = Lanes{} + static_cast<std::decay_t<decltype(winner[0])>>(tap);
      Lanes pixel = winner == here ? gradient : Lanes{};
      write_lanes(pixel, dx + p * spread.h + q * spread.w, count);
    }
  }
}

// Row `row` of N * OH, where windows do not overlap: a window writes the pixels from its start to
// the next one's, zeros where no tap lies.
template <typename T>
void scatter_row(const MaxPoolRows& pool, int64_t row, const T* dy, const uint8_t* which, T* dx) {
  const auto [h, w] = pool.axes;
  int64_t channels = pool.x[3], i = row % h.out;
  T* sample = dx + row / h.out * h.in * w.in * channels;
  IndexRange rows = h.territory(i);
  Extent2d spread{w.in * channels, channels};
  for (int64_t j = 0; j < w.out; ++j) {
    IndexRange columns = w.territory(j);
    bool two_by_two = is_whole_two_by_two(pool.axes) && rows.size() == 2 && columns.size() == 2;
    Extent2d first{rows.begin - h.start(i), columns.begin - w.start(j)};
    int64_t at = (row * w.out + j) * channels;
    T* corner = sample + (rows.begin * w.in + columns.begin) * channels;
    over_lanes(channels, [&](int64_t c, auto count) {
      if (two_by_two) {
        scatter({2, 2}, {0, 0}, Two{}, Two{}, spread, dy + at + c, which + at + c, corner + c,
                count);
      } else {
        scatter({h.kernel, w.kernel}, first, rows.size(), columns.size(), spread, dy + at + c,
                which + at + c, corner + c, count);
      }
    });
  }
}

// Row `row` of N * H: every pixel gathers from the windows over it.
template <typename T>
void gather_row(const MaxPoolRows& pool, int64_t row, const T* dy, const uint8_t* which, T* dx) {
  const auto [h, w] = pool.axes;
  int64_t channels = pool.x[3], p = row % h.in, sample = row / h.in * h.out;
  IndexRange is = h.positions(p);
  auto column_step = static_cast<int>(w.stride), row_step = static_cast<int>(h.stride * w.kernel);
  for (int64_t q = 0; q < w.in; ++q) {
    IndexRange js = pool.columns_over[static_cast<size_t>(q)];
    T* pixel = dx + (row * w.in + q) * channels;
    auto corner = static_cast<int>((p - h.start(is.begin)) * w.kernel + q - w.start(js.begin));
    int64_t first = ((sample + is.begin) * w.out + js.begin) * channels;
    over_lanes(channels, [&](int64_t c, auto count) {
      FloatLanes sum{};
      int row_tap = corner;
      int64_t row_at = first + c;
      for (int64_t i = is.begin; i < is.end; ++i) {
        int tap = row_tap;
        int64_t at = row_at;
        for (int64_t j = js.begin; j < js.end; ++j) {
          sum += load_ints(which + at, count) == tap ? load_floats(dy + at, count) : FloatLanes{};
          tap -= column_step;
          at += channels;
        }
        row_tap -= row_step;
        row_at += w.out * channels;
      }
      store_floats(sum, pixel + c, count);
    });
  }
}

// The mean of a sample's pixels, added in their order in a register; backward dx = dy / pixels, as
// every pixel had the same share of the mean. shape: of x.
Kernel average_pixels(const Shape& shape, bool backward, const KernelRequest& request) {
  int64_t samples = shape[0], pixels = shape[1] * shape[2], channels = shape[3];
  int threads = request.threads;
  return cpu_kernel(request, [=]<typename T>(T, const KernelArgs& args) {
    auto divisor = static_cast<float>(pixels);
    parallel_for(threads, samples, 1, [&](int64_t begin, int64_t end, int) {
      for (int64_t n = begin; n < end; ++n) {
        auto from = args.in<T>(0) + n * (backward ? 1 : pixels) * channels;
        auto to = args.out<T>(0) + n * (backward ? pixels : 1) * channels;
        over_lanes(channels, [&](int64_t c, auto count) {
          if (backward) {
            FloatLanes share = load_floats(from + c, count) / divisor;
            for (int64_t p = 0; p < pixels; ++p) store_floats(share, to + p * channels + c, count);
          } else {
            FloatLanes sum{};
            for (int64_t p = 0; p < pixels; ++p) sum += load_floats(from + p * channels + c, count);
            store_floats(sum / divisor, to + c, count);
          }
        });
      }
    });
  });
}

}  // namespace

template <>
Kernel make_cpu(const AvgPool2dOp& op, const KernelRequest& request) {
  return prepare(op, request, [&](PrimitiveKernel& kernel) {
    PoolingDescs o = operands_of(op.attributes(), request.inputs[0], request.outputs[0]);
    auto desc = describe_pooling(kernel.engine(), o);
    kernel.append(desc, PoolingForward(desc),
                  {{DNNL_ARG_SRC, o.x, {Kind::input, 0}}, {DNNL_ARG_DST, o.y, {Kind::output, 0}}});
  });
}

template <>
Kernel make_cpu(const AvgPool2dBackwardOp& op, const KernelRequest& request) {
  return prepare(op, request, [&](PrimitiveKernel& kernel) {
    PoolingDescs o = operands_of(op.attributes(), request.outputs[0], request.inputs[0]);
    auto desc = describe_backward<PoolingBackward>(
        kernel.engine(), describe_pooling(kernel.engine(), o), o.algorithm, o.x, o.y, o.strides,
        o.kernel, o.dilation, o.padding, o.padding);
    kernel.append(
        desc, PoolingBackward(desc),
        {{DNNL_ARG_DIFF_DST, o.y, {Kind::input, 0}}, {DNNL_ARG_DIFF_SRC, o.x, {Kind::output, 0}}});
  });
}

template <>
Kernel make_cpu(const GlobalAvgPoolOp&, const KernelRequest& request) {
  return average_pixels(request.inputs[0].shape, false, request);
}

template <>
Kernel make_cpu(const GlobalAvgPoolBackwardOp&, const KernelRequest& request) {
  return average_pixels(request.outputs[0].shape, true, request);
}

template <>
Kernel make_cpu(const MaxPool2dOp& op, const KernelRequest& request) {
  const Shape &x = request.inputs[0].shape, &y = request.outputs[0].shape;
  MaxPoolRows pool{x, y, axes_of(op.attributes().window(), x, y), {}};
  int threads = request.threads;
  return cpu_kernel(request, [=]<typename T>(T, const KernelArgs& args) {
    parallel_for(threads, pool.y[0] * pool.y[1], 1, [&](int64_t begin, int64_t end, int) {
      for (int64_t row = begin; row < end; ++row)
        pool_row(pool, row, args.in<T>(0), args.out<T>(0), args.out<uint8_t>(1));
    });
  });
}

template <>
Kernel make_cpu(const MaxPool2dBackwardOp& op, const KernelRequest& request) {
  const Shape &x = request.outputs[0].shape, &y = request.inputs[0].shape;
  MaxPoolRows pool{x, y, axes_of(op.attributes().window(), x, y), {}};
  for (int64_t q = 0; q < x[2]; ++q) pool.columns_over.push_back(pool.axes.w.positions(q));
  int threads = request.threads;
  return cpu_kernel(request, [=]<typename T>(T, const KernelArgs& args) {
    bool overlap = pool.axes.h.overlap() || pool.axes.w.overlap();
    int64_t rows = pool.x[0] * (overlap ? pool.x[1] : pool.y[1]);
    auto write_row = overlap ? gather_row<T> : scatter_row<T>;
    parallel_for(threads, rows, 1, [&](int64_t begin, int64_t end, int) {
      for (int64_t row = begin; row < end; ++row)
        write_row(pool, row, args.in<T>(0), args.in<uint8_t>(1), args.out<T>(0));
    });
  });
}

}  // namespace spire
