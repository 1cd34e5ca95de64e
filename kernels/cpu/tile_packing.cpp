#include "kernels/cpu/tile_packing.h"

#include <cstring>

namespace spire {
namespace {

constexpr int width = 16;
using Floats = float __attribute__((vector_size(64)));
using Words = uint32_t __attribute__((vector_size(64)));
using Indices = int32_t __attribute__((vector_size(64)));

// One step of a transposition: swaps the off-diagonal blocks of rows i and i + step.
template <int step>
void exchange(Floats (&rows)[width]) {
  Indices low{}, high{};
  for (int lane = 0; lane < width; ++lane) {
    bool first = (lane & step) == 0;
    low[lane] = first ? lane : width + lane - step;
    high[lane] = first ? lane + step : width + lane;
  }
  for (int i = 0; i < width; ++i) {
    if (i & step) continue;
    Floats a = rows[i], b = rows[i + step];
    rows[i] = __builtin_shuffle(a, b, low);
    rows[i + step] = __builtin_shuffle(a, b, high);
  }
}

// Loads 16 rows of 16 floats, `stride` apart, and transposes them: rows[c] is column c.
void load_transposed(const float* from, int64_t stride, Floats (&rows)[width]) {
  for (int r = 0; r < width; ++r) std::memcpy(&rows[r], from + r * stride, sizeof(Floats));
  exchange<8>(rows);
  exchange<4>(rows);
  exchange<2>(rows);
  exchange<1>(rows);
}

// Rounds like bfloat16 (dtype.h), into the upper half of each word; the lower half is garbage.
void round_to_bf16(const Floats& values, Words& out) {
  Words bits;
  std::memcpy(&bits, &values, sizeof bits);
  Words rounded = bits + 0x7fffu + ((bits >> 16) & 1u);
  Words nan = bits | 0x400000u;
  auto is_nan = (bits & 0x7fffffffu) > 0x7f800000u;
  out = is_nan ? nan : rounded;
}

// Packs a 16 x 16 block of a tile. `to` is its first element; rows of the tile (k) are layout.rows
// elements apart.
void pack_block(const TileLayout& layout, const float* from, void* to) {
  Floats columns[width];
  load_transposed(from, layout.k, columns);
  if (layout.dtype == DType::f32) {
    auto* out = static_cast<float*>(to);
    for (int c = 0; c < width; ++c) std::memcpy(out + c * layout.rows, &columns[c], sizeof(Floats));
    return;
  }
  auto* out = static_cast<uint32_t*>(to);  // pairs of bf16
  for (int c = 0; c < width; c += 2) {
    Words even, odd;
    round_to_bf16(columns[c], even);
    round_to_bf16(columns[c + 1], odd);
    Words pair = (even >> 16) | (odd & 0xffff0000u);
    std::memcpy(out + c / 2 * layout.rows, &pair, sizeof pair);
  }
}

}  // namespace

void pack_tiles(const TileLayout& layout, const float* plain, void* packed, int64_t first,
                int64_t last) {
  auto* bytes = static_cast<char*>(packed);
  int64_t size = static_cast<int64_t>(size_of(layout.dtype));
  for (int64_t n = first; n < last; n += width) {
    int64_t tile_row = n / layout.rows, inside = n % layout.rows;
    // In bf16 a step along n is a pair of elements.
    int64_t step = layout.dtype == DType::f32 ? inside : 2 * inside;
    for (int64_t k = 0; k < layout.k; k += width) {
      int64_t offset = tile_row * layout.row_stride + k * layout.rows + step;
      pack_block(layout, plain + n * layout.k + k, bytes + offset * size);
    }
  }
}

}  // namespace spire
