// Kernels that multiply rows by one matrix, block by block of rows: windows of images
// (convolutions), and the output gradients of a dense layer with very many outputs.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include <spire/packing.h>

#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/row_product.h"
#include "kernels/kernel.h"

namespace spire::product {

// Images (N, H, W, C) as fp32 in a border of zeros, from which the windows of a convolution are
// read as rows of a matrix.
struct PaddedImages {
  int64_t h = 0, w = 0, c = 0;    // of an image
  int64_t top = 0, left = 0;      // rows and columns of zeros before the image
  int64_t height = 0, width = 0;  // with zeros; may also cut off rows and columns at the end

  bool padded() const { return top != 0 || left != 0 || height != h || width != w; }
  int64_t floats() const { return height * width * c; }  // of a padded image

  // Fills `to`, (images, height, width, C).
  template <typename T>
  void fill(const T* images, int64_t count, float* to, int threads) const {
    parallel_for(threads, count * height, 1, [&](int64_t begin, int64_t end, int) {
      for (int64_t row = begin; row < end; ++row)
        fill_row(images, row / height, row % height - top, to + row * width * c);
    });
  }

 private:
  static void zero(float* to, int64_t floats) {
    std::memset(to, 0, static_cast<size_t>(floats) * sizeof(float));
  }

  template <typename T>
  void fill_row(const T* images, int64_t image, int64_t y, float* to) const {
    if (y < 0 || y >= h) return zero(to, width * c);
    int64_t before = std::min(left, width), copied = std::clamp<int64_t>(width - left, 0, w);
    zero(to, before * c);
    const T* from = images + ((image * h) + y) * w * c;
    copy_range(from, to + before * c, copied * c);
    zero(to + (before + copied) * c, (width - before - copied) * c);
  }
};

struct RowKernelOptions {
  PaddedImages images;           // of input 0
  int64_t count = 0;             // number of images
  std::vector<RowGroup> groups;  // of one image; together they write all of its output
  int64_t output_size = 0;       // of an image
  Factors factors;               // input 1
  std::vector<Packing> packings;
  bool bias = false, relu = false;  // bias: input 2
};

// Inputs and output 0 have the dtypes of the request: fp32 or bf16.
Kernel make_row_kernel(RowKernelOptions options, const KernelRequest& request);

constexpr int64_t slab_columns = 2048;  // columns of dy per pass of make_deep_product()

inline bool is_deep(int64_t depth) {
  return depth > 2 * slab_columns;
}

// Makes the kernel dx = dy w of a dense layer with very many outputs (is_deep()), such as logits
// over a vocabulary: it copies and multiplies dy slab by slab of columns.
// Inputs: dy (rows, depth), w (depth, columns) plain fp32. Output: dx (rows, columns).
Kernel make_deep_product(int64_t rows, int64_t depth, int64_t columns,
                         const KernelRequest& request);

}  // namespace spire::product
