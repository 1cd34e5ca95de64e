// Images (N, H, W, C) as fp32 in a border of zeros, from which the windows of a convolution are
// read as rows of a matrix.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/cpu/elementwise.h"

namespace spire::product {

struct PaddedImages {
  int64_t h = 0, w = 0, c = 0;    // of an image
  int64_t top = 0, left = 0;      // rows and columns of zeros before it
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

}  // namespace spire::product
