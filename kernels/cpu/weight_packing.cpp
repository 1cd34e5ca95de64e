#include "kernels/cpu/weight_packing.h"

#include <algorithm>

#include <fmt/format.h>

#include "kernels/cpu/register_tiles.h"

namespace spire {
namespace {

// Packs a 16 x 16 block of a tile. `to` is its first element; rows of the tile (k) are layout.rows
// elements apart.
void pack_block(const TileLayout& layout, const float* from, void* to) {
  FloatLanes columns[lane_count];
  for (int r = 0; r < lane_count; ++r) columns[r] = load_floats(from + r * layout.k, lane_count);
  transpose_lanes(columns);
  if (layout.dtype == DType::f32) {
    auto* out = static_cast<float*>(to);
    for (int c = 0; c < lane_count; ++c)
      store_floats(columns[c], out + c * layout.rows, lane_count);
    return;
  }
  auto* out = static_cast<uint32_t*>(to);  // pairs of bf16
  for (int c = 0; c < lane_count; c += 2) {
    WordLanes even = widen(round_to_bfloat16(columns[c]));
    WordLanes odd = widen(round_to_bfloat16(columns[c + 1]));
    write_lanes(even | odd << 16, out + c / 2 * layout.rows, lane_count);
  }
}

}  // namespace

void pack_tiles(const TileLayout& layout, const float* plain, void* packed, int64_t first,
                int64_t last) {
  auto* bytes = static_cast<char*>(packed);
  int64_t size = static_cast<int64_t>(size_of(layout.dtype));
  for (int64_t n = first; n < last; n += lane_count) {
    int64_t tile_row = n / layout.rows, inside = n % layout.rows;
    // In bf16 a step along n is a pair of elements.
    int64_t step = layout.dtype == DType::f32 ? inside : 2 * inside;
    for (int64_t k = 0; k < layout.k; k += lane_count) {
      int64_t offset = tile_row * layout.row_stride + k * layout.rows + step;
      pack_block(layout, plain + n * layout.k + k, bytes + offset * size);
    }
  }
}

}  // namespace spire

namespace spire::product {
namespace {

// Packs 16 columns, or the last `count`, whose numbers lie one after another in memory: blocks of
// 16 x 16 are transposed in registers. Number m of a column is that of tap m % taps.
template <typename T>
void pack_columns(const PanelLayout& layout, const float* from, int count, T* to, int64_t stride) {
  for (int64_t first = 0; first < layout.depth(); first += lane_count) {
    int numbers = static_cast<int>(std::min<int64_t>(lane_count, layout.depth() - first));
    FloatLanes rows[lane_count] = {};
    for (int j = 0; j < count; ++j)
      rows[j] = load_floats(from + j * layout.column_stride + first, numbers);
    transpose_lanes(rows);
    for (int m = 0; m < numbers; ++m) {
      int64_t k = layout.row((first + m) % layout.taps, (first + m) / layout.taps);
      store_floats(rows[m], to + k * stride, lane_count);
    }
  }
}

// The same for columns that lie beside each other: a row is gathered.
template <typename T>
void gather_columns(const PanelLayout& layout, const float* from, int count, T* to,
                    int64_t stride) {
  for (int64_t i = 0; i < layout.inner; ++i) {
    for (int64_t tap = 0; tap < layout.taps; ++tap) {
      const float* row = from + i * layout.inner_stride + tap;
      FloatLanes lanes{};
      for (int j = 0; j < count; ++j) lanes[j] = row[j * layout.column_stride];
      store_floats(lanes, to + layout.row(tap, i) * stride, lane_count);
    }
  }
}

template <typename T>
void pack_panels(const PanelLayout& layout, const float* plain, T* packed, int64_t first,
                 int64_t last) {
  bool in_order = layout.inner_stride == layout.taps;
  for (int64_t panel = first; panel < last; ++panel) {
    int64_t begin = panel * panel_width;
    int64_t stride = std::min(panel_width, whole_registers(layout.columns) - begin);
    for (int64_t column = begin; column < begin + stride; column += lane_count) {
      int count = static_cast<int>(std::min<int64_t>(lane_count, layout.columns - column));
      const float* from = plain + column * layout.column_stride;
      T* to = packed + begin * layout.depth() + (column - begin);
      if (in_order) {
        pack_columns(layout, from, count, to, stride);
      } else {
        gather_columns(layout, from, count, to, stride);
      }
    }
  }
}

}  // namespace

Packing panel_packing(int input, const PanelLayout& layout) {
  auto numbers = static_cast<size_t>(whole_registers(layout.columns) * layout.depth());
  auto pack = [layout](const float* plain, void* packed, int64_t first, int64_t last, void*) {
    with_float_type(layout.dtype, [&](auto type) {
      pack_panels(layout, plain, static_cast<decltype(type)*>(packed), first, last);
    });
  };
  std::string form = fmt::format("{} panels {}x{}x{} strides {}:{}{}", to_string(layout.dtype),
                                 layout.columns, layout.inner, layout.taps, layout.column_stride,
                                 layout.inner_stride, layout.flipped ? " flipped" : "");
  bool columns_in_order =
      layout.inner_stride == layout.taps && layout.column_stride == layout.depth();
  return {input,
          form,
          numbers * size_of(layout.dtype),
          panel_count(layout.columns),
          pack,
          columns_in_order ? panel_width * layout.depth() : 0};
}

}  // namespace spire::product
