// The product dx = dy w of a dense layer with very many outputs, such as logits over a vocabulary:
// dy is copied and multiplied slab by slab of its columns.
#pragma once
#include <cstdint>

#include "kernels/kernel.h"

namespace spire::product {

constexpr int64_t slab_columns = 2048;  // of dy at a time

inline bool is_deep(int64_t depth) {
  return depth > 2 * slab_columns;
}

// Inputs: dy (rows, depth), w (depth, columns) plain fp32. Output: dx (rows, columns).
Kernel make_deep_product(int64_t rows, int64_t depth, int64_t columns,
                         const KernelRequest& request);

}  // namespace spire::product
