// The gradient of a convolution's weights: the sum over all output positions of the outer product
// of dy and the window of x.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "engine/device/device_memory.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/register_tiles.h"
#include "kernels/cpu/row_kernel.h"
#include "kernels/cpu/tiled_convolution.h"

namespace spire::product {

// Products y = a^T b in fp32 over many rows of a and b: gradients of weights.

// Rows of a: columns [64 p, 64 p + 64) of row k are at data + p * panel_stride + k * row_stride.
struct OuterRows {
  const float* data = nullptr;
  int64_t panel_stride = 0, row_stride = 0;
};

// Adjacent columns of y, made from adjacent numbers of each row of b: column `to` + j, j < width,
// reads b[offsets[k] + from + j] of row k. The loads may read up to 15 floats past the last of
// these numbers.
struct ColumnGroup {
  int64_t from = 0, to = 0, width = 0;  // offset in b, first column of y, number of columns
};

struct OuterProduct {
  int64_t stride = 0;                // of y, in floats
  std::vector<ColumnGroup> columns;  // of y
  int threads = 1;                   // results do not depend on it

  // Sets y to the sum over rows k < depth of a and b, or adds the sum to y if `add` is true. rows:
  // of y, one per column of a. offsets: (depth), where in b each row k begins.
  void run(int64_t rows, const OuterRows& a, const float* b, const int64_t* offsets, int64_t depth,
           float* y, bool add) const;
};

namespace {

// Rows of a and b that stay in the first-level cache; more where y is too large for the second, so
// that y is read and written less often.
constexpr int64_t chunk_depth = 128, deep_chunk = 512;
constexpr int64_t large_floats = int64_t{1} << 18;

// Adds one chunk of k to a tile of y, of which only the last register may be partly filled.
template <int rows, int registers>
void add_chunk(const float* a, int64_t a_stride, const float* b, const int64_t* offsets,
               int64_t depth, float* y, int64_t y_stride, int64_t width, bool add) {
  auto count = [&](int j) {
    return j + 1 < registers ? lane_count : static_cast<int>(width - j * lane_count);
  };
  TileSums<rows, registers> sums;
  if (add) {
    for (int i = 0; i < rows; ++i)
      for (int j = 0; j < registers; ++j)
        sums.at[i][j] = load_floats(y + i * y_stride + j * lane_count, count(j));
  }
  add_outer_products<rows, registers>(a, a_stride, b, offsets, depth, sums);
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < registers; ++j)
      store_floats(sums.at[i][j], y + i * y_stride + j * lane_count, count(j));
}

}  // namespace

void OuterProduct::run(int64_t rows, const OuterRows& a, const float* b, const int64_t* offsets,
                       int64_t depth, float* y, bool add) const {
  auto compute = [&](const ColumnGroup& group, int64_t j, int64_t begin, int64_t count) {
    int64_t width = std::min(panel_width, group.width - j);
    with_constant<panel_registers>(registers_of(width, 0), [&](auto r) {
      constexpr int registers = decltype(r)::value, most = tile_rows(registers);
      for (int64_t panel = 0; panel < panel_count(rows); ++panel) {
        int64_t first = panel * panel_width, last = std::min(rows, first + panel_width);
        over_tiles(first, last, most, [&](int64_t row, int tile_size) {
          with_constant<most>(tile_size, [&](auto t) {
            constexpr int tile = decltype(t)::value;
            add_chunk<tile, registers>(
                a.data + panel * a.panel_stride + begin * a.row_stride + (row - first),
                a.row_stride, b + group.from + j, offsets + begin, count,
                y + row * stride + group.to + j, stride, width, add || begin > 0);
          });
        });
      }
    });
  };
  int64_t panels = 0;
  for (const ColumnGroup& group : columns) panels += panel_count(group.width);
  int64_t chunk = rows * stride > large_floats ? deep_chunk : chunk_depth;
  parallel_for(threads, panels, 1, [&](int64_t first, int64_t last, int) {
    for (int64_t begin = 0; begin < depth; begin += chunk) {
      int64_t count = std::min(chunk, depth - begin), panel = 0;
      for (const ColumnGroup& group : columns)
        for (int64_t j = 0; j < group.width; j += panel_width, ++panel)
          if (panel >= first && panel < last) compute(group, j, begin, count);
    }
  });
}

namespace {

constexpr int64_t block_positions = 1024;
constexpr int64_t slab = 1024;                          // columns of dy that are copied at a time
constexpr int64_t image_copy_bytes = int64_t{4} << 20;  // of copies of x

size_t floats_bytes(int64_t floats) {
  return align_up(static_cast<size_t>(floats) * sizeof(float));
}

// Copies columns [first, first + width) of rows (rows, stride) to panels [panel][row][64], in fp32;
// `panel_rows` rows a panel.
template <typename T>
void copy_to_panels(const T* from, int64_t rows, int64_t stride, int64_t first, int64_t width,
                    int64_t panel_rows, float* to, int threads) {
  parallel_for(threads, rows, 16, [&](int64_t begin, int64_t end, int) {
    for (int64_t row = begin; row < end; ++row)
      over_lanes(width, [&](int64_t i, auto count) {
        float* panel = to + (i / panel_width * panel_rows + row) * panel_width;
        store_floats(load_floats(from + row * stride + first + i, count), panel + i % panel_width,
                     lane_count);
      });
  });
}

// Windows are read where they lie in padded images; rows of a dense layer are copied to panels.
template <typename T>
class WeightGradient {
 public:
  WeightGradient(const ConvolutionShape& shape, bool bias, int threads)
      : shape_(shape), bias_(bias), threads_(threads), images_(padded_input(shape)) {
    int64_t wanted = (block_positions + positions() - 1) / positions();
    int64_t fit = image_copy_bytes / (images_.floats() * static_cast<int64_t>(sizeof(float)));
    block_ = std::clamp<int64_t>(std::min(wanted, fit), 1, shape_.n);
    lay_out();
    copies_images_ =
        !is_dense() && (!std::is_same_v<T, float> || images_.padded() || reads_beyond_windows());
  }

  size_t workspace_bytes() const {
    return dy_bytes() + image_bytes() + window_bytes() + sum_bytes();
  }

  void operator()(const KernelArgs& args) const {
    const auto* x = args.in<T>(0);
    const auto* dy = args.in<T>(1);
    auto* dw = args.out<float>(0);
    auto* bytes = args.scratch<std::byte>();
    auto* dy_copy = reinterpret_cast<float*>(bytes);
    auto* image_copy = reinterpret_cast<float*>(bytes + dy_bytes());
    auto* windows = reinterpret_cast<float*>(bytes + dy_bytes() + image_bytes());
    auto* sums = reinterpret_cast<float*>(bytes + dy_bytes() + image_bytes() + window_bytes());
    float* result = shape_.taps() == 1 ? dw : sums;
    for (int64_t first = 0; first < shape_.n; first += block_) {
      int64_t count = std::min(block_, shape_.n - first), rows = count * positions();
      const float* b = rows_of(x + first * image_size(), count, image_copy, windows);
      for (int64_t o = 0; o < shape_.o; o += slab) {
        int64_t columns = std::min(slab, shape_.o - o);
        copy_to_panels(dy + first * positions() * shape_.o, rows, shape_.o, o, columns,
                       block_ * positions(), dy_copy, threads_);
        if (bias_) add_columns(dy_copy, rows, columns, first > 0, args.out<float>(1) + o);
        OuterRows a{dy_copy, block_ * positions() * panel_width, panel_width};
        product_.run(columns, a, b, offsets_.data(), rows, result + o * window_floats(), first > 0);
      }
    }
    if (result != dw) deliver(sums, dw);
  }

 private:
  int64_t positions() const { return shape_.oh * shape_.ow; }
  int64_t image_size() const { return shape_.h * shape_.w * shape_.c; }
  int64_t window_floats() const { return shape_.taps() * shape_.c; }
  bool is_dense() const { return shape_.is_dense(); }

  // Whole registers are read, also where a row of windows ends within one.
  bool reads_beyond_windows() const {
    return std::ranges::any_of(
        product_.columns, [](const ColumnGroup& group) { return group.width % lane_count != 0; });
  }

  // Sets offsets_ and the columns of product_.
  void lay_out() {
    product_.stride = window_floats();
    product_.threads = threads_;
    const Window& window = shape_.window;
    int64_t line = images_.width * shape_.c, rows = block_ * positions();
    for (int64_t row = 0; row < rows; ++row) {
      int64_t image = row / positions(), i = row % positions() / shape_.ow, j = row % shape_.ow;
      int64_t start =
          image * images_.floats() + i * window.stride.h * line + j * window.stride.w * shape_.c;
      offsets_.push_back(is_dense() ? row * panel_width : start);
    }
    if (is_dense()) {
      for (int64_t j = 0; j < window_floats(); j += panel_width)
        product_.columns.push_back({j * rows, j, std::min(panel_width, window_floats() - j)});
      return;
    }
    for (int64_t r = 0; r < window.kernel.h; ++r) {
      for (int64_t s = 0; s < window.kernel.w; ++s) {
        int64_t from = r * window.dilation.h * line + s * window.dilation.w * shape_.c;
        int64_t to = (r * window.kernel.w + s) * shape_.c;
        auto& columns = product_.columns;
        bool goes_on = !columns.empty() && columns.back().from + columns.back().width == from;
        if (goes_on) {
          columns.back().width += shape_.c;
        } else {
          columns.push_back({from, to, shape_.c});
        }
      }
    }
  }

  // Returns the rows of b of a block of images.
  const float* rows_of(const T* x, int64_t count, float* images, float* windows) const {
    if (is_dense()) {
      copy_to_panels(x, count, shape_.c, 0, shape_.c, block_, windows, threads_);
      return windows;
    }
    const float* from = images;
    if constexpr (std::is_same_v<T, float>) {
      if (!copies_images_) from = x;
    }
    if (copies_images_) images_.fill(x, count, images, threads_);
    return from;
  }

  // db = the sum of the columns of dy, or adds it. Each block is summed by itself first.
  void add_columns(const float* dy, int64_t rows, int64_t columns, bool add, float* db) const {
    int64_t panel_rows = block_ * positions();
    parallel_for(threads_, columns, panel_width, [&](int64_t begin, int64_t end, int) {
      over_lanes(end - begin, [&](int64_t i, auto count) {
        int64_t column = begin + i;
        const float* from =
            dy + column / panel_width * panel_rows * panel_width + column % panel_width;
        FloatLanes sum{};
        for (int64_t row = 0; row < rows; ++row)
          sum += load_floats(from + row * panel_width, count);
        if (add) sum += load_floats(db + column, count);
        store_floats(sum, db + column, count);
      });
    });
  }

  // (O, KH, KW, C) to (O, C, KH, KW).
  void deliver(const float* sums, float* dw) const {
    int64_t taps = shape_.taps(), c = shape_.c;
    parallel_for(threads_, shape_.o, 1, [&](int64_t begin, int64_t end, int) {
      for (int64_t o = begin; o < end; ++o)
        for (int64_t i = 0; i < c; ++i)
          for (int64_t tap = 0; tap < taps; ++tap)
            dw[(o * c + i) * taps + tap] = sums[(o * taps + tap) * c + i];
    });
  }

  size_t dy_bytes() const {
    return floats_bytes(panel_count(std::min(slab, shape_.o)) * panel_width * block_ * positions());
  }
  size_t image_bytes() const {
    return copies_images_ ? floats_bytes(block_ * images_.floats() + lane_count) : 0;
  }
  size_t window_bytes() const {
    int64_t panels = panel_count(window_floats());
    return is_dense() ? floats_bytes(panels * panel_width * block_ * positions()) : 0;
  }
  size_t sum_bytes() const {
    return shape_.taps() == 1 ? 0 : floats_bytes(shape_.o * window_floats());
  }

  ConvolutionShape shape_;
  bool bias_;
  int threads_;
  PaddedImages images_;
  bool copies_images_ = false;    // whether windows are read from a copy in fp32
  int64_t block_ = 1;             // images
  std::vector<int64_t> offsets_;  // of each position: its row of b
  OuterProduct product_;
};

}  // namespace

Kernel tiled_backward_weights(const ConvolutionShape& given, bool bias,
                              const KernelRequest& request) {
  ConvolutionShape shape = given.is_dense() ? given.as_pixels() : given;
  return with_float_type(request.inputs[0].dtype, [&](auto type) {
    WeightGradient<decltype(type)> run(shape, bias, request.threads);
    size_t bytes = run.workspace_bytes();
    return Kernel(std::move(run), bytes);
  });
}

}  // namespace spire::product
