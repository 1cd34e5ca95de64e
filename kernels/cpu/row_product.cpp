#include "kernels/cpu/row_product.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "kernels/cpu/elementwise.h"

namespace spire::product {
namespace {

constexpr int64_t panel_depth = 2304;  // rows of a panel that stay in the cache: 576 KiB
constexpr int64_t rows_per_thread = 24;

size_t rounded(int64_t floats) {
  return static_cast<size_t>((floats + 15) / 16 * 16) * sizeof(float);
}

// Copies rows [begin, end) of a plain matrix, columns [first, first + width), and fills up with
// zeros to whole registers.
void copy_panel(const float* rows, int64_t stride, int64_t begin, int64_t end, int64_t first,
                int64_t width, int registers, float* panel) {
  for (int64_t k = begin; k < end; ++k) {
    over_lanes(width, [&](int64_t j, auto count) {
      store_floats(load_floats(rows + k * stride + first + j, count), panel + j, lane_count);
    });
    panel += registers * lane_count;
  }
}

// Sums of a tile, with what is done to them at the first and after the last chunk of k.
template <int rows, int registers>
class Tile {
 public:
  void load(const float* partial, int64_t stride) {
    for (int i = 0; i < rows; ++i)
      for (int j = 0; j < registers; ++j)
        sums.at[i][j] = load_floats(partial + i * stride + j * lane_count, lane_count);
  }
  void store(float* partial, int64_t stride) const {
    for (int i = 0; i < rows; ++i)
      for (int j = 0; j < registers; ++j)
        store_floats(sums.at[i][j], partial + i * stride + j * lane_count, lane_count);
  }
  // Loads and stores `width` columns of y from `first` on.
  template <typename T>
  void load(const T* y, const int64_t* to, int64_t first, int64_t width) {
    for (int j = 0; j < registers; ++j) {
      int count = static_cast<int>(std::min<int64_t>(lane_count, width - j * lane_count));
      for (int i = 0; i < rows; ++i)
        sums.at[i][j] = load_floats(y + to[i] + first + j * lane_count, count);
    }
  }
  template <typename T>
  void store_result(const Epilogue& epilogue, int64_t first, int64_t width, T* y,
                    const int64_t* to) {
    for (int j = 0; j < registers; ++j) {
      int64_t column = first + j * lane_count;
      int count = static_cast<int>(std::min<int64_t>(lane_count, width - j * lane_count));
      FloatLanes bias{};
      if (epilogue.bias) bias = load_floats(epilogue.bias + column, count);
      for (int i = 0; i < rows; ++i) {
        FloatLanes value = epilogue.bias ? sums.at[i][j] + bias : sums.at[i][j];
        if (epilogue.relu) value = value < 0 ? FloatLanes{} : value;  // keeps NaN
        store_floats(value, y + to[i] + column, count);
      }
    }
  }

  TileSums<rows, registers> sums;
};

}  // namespace

RowProduct::RowProduct(Factors factors, RowGroup group, int threads)
    : factors_(factors), group_(std::move(group)), threads_(threads) {
  cut();
}

// A chunk spans at most panel_depth rows of b, with those between its segments; so segments are
// cut, too.
void RowProduct::cut() {
  Chunk chunk;
  for (Segment left : group_.segments) {
    while (left.depth > 0) {
      if (chunk.segments.empty()) chunk.begin = left.b;
      int64_t taken = std::min(left.depth, chunk.begin + panel_depth - left.b);
      if (taken <= 0) {
        chunks_.push_back(std::exchange(chunk, {}));
        continue;
      }
      chunk.segments.push_back({left.a, left.b - chunk.begin, taken});
      chunk.end = left.b + taken;
      left = {left.a + taken, left.b + taken, left.depth - taken};
    }
  }
  chunks_.push_back(std::move(chunk));  // empty if there is no k at all: sums are zero
}

size_t RowProduct::panel_bytes() const {
  if (factors_.form == Factors::Form::panels_f32) return 0;
  int64_t longest = 0;
  for (const Chunk& chunk : chunks_) longest = std::max(longest, chunk.end - chunk.begin);
  return rounded(longest * panel_width);
}

size_t RowProduct::partial_bytes() const {
  return chunks_.size() > 1 ? rounded(rows() * panel_width) : 0;
}

size_t RowProduct::workspace_bytes() const {
  return static_cast<size_t>(threads_) * panel_bytes() + partial_bytes();
}

const float* RowProduct::panel(const void* b, int64_t index, const Chunk& chunk,
                               float* scratch) const {
  int registers = registers_of(factors_.columns, index);
  int64_t width = registers * lane_count, first = index * panel_width;
  int64_t offset = first * factors_.depth + chunk.begin * width;
  int64_t depth = chunk.end - chunk.begin;
  switch (factors_.form) {
    case Factors::Form::panels_f32:
      return static_cast<const float*>(b) + offset;
    case Factors::Form::panels_bf16: {
      const auto* from = static_cast<const bfloat16*>(b) + offset;
      copy_range(from, scratch, depth * width);
      return scratch;
    }
    default:
      copy_panel(static_cast<const float*>(b), factors_.stride, chunk.begin, chunk.end, first,
                 std::min(panel_width, factors_.columns - first), registers, scratch);
      return scratch;
  }
}

template <typename T>
void RowProduct::compute(const Operands<T>& operands, int64_t begin, int64_t end, int64_t index,
                         const Chunk& chunk, const float* columns) const {
  bool first = &chunk == &chunks_.front(), last = &chunk == &chunks_.back();
  int64_t column = index * panel_width;
  int64_t width = std::min(panel_width, factors_.columns - column);
  with_constant<panel_registers>(registers_of(factors_.columns, index), [&](auto r) {
    constexpr int registers = decltype(r)::value, most = tile_rows(registers);
    over_tiles(begin, end, most, [&](int64_t row, int tile_size) {
      with_constant<most>(tile_size, [&](auto t) {
        constexpr int tile = decltype(t)::value;
        Tile<tile, registers> sums;
        const int64_t* to = group_.to.data() + row;
        float* stored = operands.partial + row * panel_width;
        if (!first) sums.load(stored, panel_width);
        if (first && operands.epilogue.add) sums.load(operands.y, to, column, width);
        const float* from[tile];
        for (int i = 0; i < tile; ++i)
          from[i] = operands.a + group_.from[static_cast<size_t>(row + i)];
        for (const Segment& segment : chunk.segments)
          add_products<tile, registers>(from, segment, columns, sums.sums);
        if (last) {
          sums.store_result(operands.epilogue, column, width, operands.y, to);
        } else {
          sums.store(stored, panel_width);
        }
      });
    });
  });
}

// Each thread takes a range of rows and computes it panel by panel, chunk by chunk.
template <typename T>
void RowProduct::run(int64_t rows, const float* a, const void* b, T* y, const Epilogue& epilogue,
                     void* workspace) const {
  auto* bytes = static_cast<std::byte*>(workspace);
  size_t scratch_bytes = panel_bytes();
  auto* partial = reinterpret_cast<float*>(bytes + static_cast<size_t>(threads_) * scratch_bytes);
  Operands<T> operands{a, y, epilogue, partial};
  parallel_for(threads_, rows, rows_per_thread, [&](int64_t begin, int64_t end, int thread) {
    auto* scratch = reinterpret_cast<float*>(bytes + static_cast<size_t>(thread) * scratch_bytes);
    for (int64_t index = 0; index < panel_count(factors_.columns); ++index)
      for (const Chunk& chunk : chunks_)
        compute(operands, begin, end, index, chunk, panel(b, index, chunk, scratch));
  });
}

template void RowProduct::run(int64_t, const float*, const void*, float*, const Epilogue&,
                              void*) const;
template void RowProduct::run(int64_t, const float*, const void*, bfloat16*, const Epilogue&,
                              void*) const;

}  // namespace spire::product
