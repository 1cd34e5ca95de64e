// Bytes that are moved as they are, in the widest words that their places allow.
#pragma once
#include <spire/error.h>

#include "engine/device/cuda_pack.h"

namespace spire::inline kernels {

constexpr int64_t widest_word = 16;

// The widest word that divides all of these, which are bytes.
template <typename... Bytes>
int64_t word_of(Bytes... bytes) {
  int64_t all = (widest_word | ... | static_cast<int64_t>(bytes));
  return all & -all;
}

// visit(word): a value of a type of `bytes` bytes, a power of 2 up to 16.
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
      require(bytes == widest_word, "there is no word of {} bytes", bytes);
      return visit(Pack<uint32_t, 4>{});
  }
}

}  // namespace spire::inline kernels
