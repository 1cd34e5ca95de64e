// Sixteen bytes at a time: what one thread of a CUDA kernel loads and stores in one instruction.
#pragma once
#include <cstdint>

#include "engine/base/dtype.h"

namespace spire::inline device {

// N elements that lie together, at an address that is a multiple of their bytes.
template <typename T, int N>
struct alignas(N * sizeof(T)) Pack {
  T at[N];
};

// Elements of T in 16 bytes.
template <typename T>
constexpr int pack_width = 16 / static_cast<int>(sizeof(T));

template <int N, typename T>
SPIRE_HOST_DEVICE inline Pack<T, N> load_pack(const T* from) {
  return *reinterpret_cast<const Pack<T, N>*>(from);
}

template <int N, typename T>
SPIRE_HOST_DEVICE inline void store_pack(const Pack<T, N>& pack, T* to) {
  *reinterpret_cast<Pack<T, N>*>(to) = pack;
}

// Whether rows of `width` elements all begin where packs of N may be loaded; tensors themselves do.
template <int N>
bool rows_take_packs(int64_t width) {
  return width % N == 0;
}

}  // namespace spire::inline device
