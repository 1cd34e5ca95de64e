// Copies of bytes on a GPU, in the widest words that addresses and extents allow.
#pragma once
#include "engine/device/cuda_kernel.h"

namespace spire {

constexpr int64_t widest_word = 16;  // bytes of one load

// Returns the widest word, in bytes, that divides all of these: the lowest bit set in any of them.
template <typename... Bytes>
int64_t word_of(Bytes... bytes) {
  int64_t all = (widest_word | ... | static_cast<int64_t>(bytes));
  return all & -all;
}

// Calls visit(word) with a value of a type of `bytes` bytes, a power of 2 up to 16.
template <typename Visit>
decltype(auto) with_word(int64_t bytes, const Visit& visit) {
  switch (bytes) {
    case 1:
      return visit(uint8_t{});
    case 2:
      return visit(uint16_t{});
    case 4:
      return visit(uint32_t{});
    case 8:
      return visit(uint64_t{});
    default:
      return visit(Pack<uint32_t, 4>{});
  }
}

// A copy of rows, padded with zeros; all numbers but `rows` are bytes. In each row of `to` it
// writes bytes [to_begin, to_begin + width): `before` zeros, then `kept` bytes of the row of
// `from`, from from_begin on, then zeros.
struct RowMove {
  int64_t rows = 0;
  int64_t to_stride = 0, to_begin = 0, width = 0;
  int64_t from_stride = 0, from_begin = 0, before = 0, kept = 0;
};

// Copies on `stream`. to, from: whole tensors, aligned to 16 bytes.
void move_rows_cuda(void* stream, const RowMove& move, void* to, const void* from);

}  // namespace spire
