// Matrix products of a warp on tensor cores, by PTX's mma.m16n8k16 and ldmatrix. T is bfloat16 or
// float16; a 32-bit word contains two of them, the first in its lower half. For .cu files;
// tests/emulation has a replacement of this header.
//
// The matrices are distributed over the warp's lanes (its 32 threads). With group = lane / 4 and
// pair = 2 * (lane % 4), a lane has these parts (PTX ISA, "Matrix Fragments for mma.m16n8k16"):
//   a (16, 16)    word i = 0..3: row group + 8 * (i % 2), columns c = pair + 8 * (i / 2) and c + 1
//   b (16, 8)     word i = 0, 1: rows r = pair + 8 * i and r + 1, column group
//   sums (16, 8)  float i = 0..3: row group + 8 * (i / 2), column pair + i % 2
//
// REQUIRES: all lanes of the warp call; compute capability 8.0 or later. Code for older GPUs traps.
#pragma once
#include <cstdint>
#include <type_traits>

#include <cuda_runtime.h>

#include <spire/tensor.h>

namespace spire {

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
constexpr bool compiled_with_mma = false;
#else
constexpr bool compiled_with_mma = true;
#endif

// Matrix product: sums += a * b, in fp32, in the fixed order of the GPU's tensor cores.
template <typename T>
__device__ inline void mma_16x8x16(float (&sums)[4], const uint32_t (&a)[4], uint32_t b0,
                                   uint32_t b1) {
  static_assert(std::is_same_v<T, bfloat16> || std::is_same_v<T, float16>);
  if constexpr (!compiled_with_mma) {
    __trap();
  } else if constexpr (std::is_same_v<T, bfloat16>) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  } else {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  }
}

// Load four matrices (8, 8) of 16-bit elements from shared memory. Lane 8 * i + r passes the
// address of row r of matrix i, a multiple of 16 bytes. Word i of a lane gets the elements in row
// `group` and columns `pair` and `pair` + 1 of matrix i, or (_transposed) of its transpose.
__device__ inline void load_matrices(uint32_t (&words)[4], const void* row) {
  if constexpr (compiled_with_mma) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                 : "r"(static_cast<uint32_t>(__cvta_generic_to_shared(row)))
                 : "memory");
  } else {
    __trap();
  }
}
__device__ inline void load_matrices_transposed(uint32_t (&words)[4], const void* row) {
  if constexpr (compiled_with_mma) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                 : "r"(static_cast<uint32_t>(__cvta_generic_to_shared(row)))
                 : "memory");
  } else {
    __trap();
  }
}

// Packs two floats into a word, each rounded to T (to nearest, ties to even).
template <typename T>
__device__ inline uint32_t halves_of(float first, float second) {
  static_assert(std::is_same_v<T, bfloat16> || std::is_same_v<T, float16>);
  uint32_t word = 0;
  if constexpr (!compiled_with_mma) {
    __trap();
  } else if constexpr (std::is_same_v<T, bfloat16>) {
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(second), "f"(first));
  } else {
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(second), "f"(first));
  }
  return word;
}

}  // namespace spire
