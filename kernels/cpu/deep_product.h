// The product dx = dy w of a dense layer with very many outputs, such as logits over a vocabulary:
// dy is copied and multiplied slab by slab of its columns.
#pragma once
#include <memory>
#include <vector>

#include "kernels/cpu/row_product.h"
#include "kernels/kernel.h"

namespace spire::inline kernels::product {

struct DeepProduct {
  static constexpr int64_t slab = 2048;  // columns of dy at a time
  static bool is_deep(int64_t depth) { return depth > 2 * slab; }
};

// Inputs: dy (rows, depth), w (depth, columns) plain fp32. Output: dx (rows, columns).
std::unique_ptr<Kernel> make_deep_product(int64_t rows, int64_t depth, int64_t columns,
                                          const KernelRequest& request);

}  // namespace spire::inline kernels::product
