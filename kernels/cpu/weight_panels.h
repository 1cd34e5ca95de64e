// Packing of weights into the panels that row_product.h reads; zeros fill the last one's registers.
#pragma once
#include <spire/packing.h>

#include "kernels/kernel.h"

namespace spire::product {

// A plain fp32 weight tensor as a matrix of depth taps * inner: row k = tap * inner + i and column
// j are at plain[j * column_stride + i * inner_stride + tap], or with `flipped` the last tap first.
struct PanelLayout {
  int64_t columns = 0, inner = 0, taps = 1;
  int64_t column_stride = 0, inner_stride = 0;
  bool flipped = false;
  DType dtype = DType::f32;  // of the panels: f32 | bf16

  int64_t depth() const { return inner * taps; }
  int64_t row(int64_t tap, int64_t i) const { return (flipped ? taps - 1 - tap : tap) * inner + i; }
};

// Returns the packing of the op's input `input`, one panel a unit.
Packing panel_packing(int input, const PanelLayout& layout);

}  // namespace spire::product
