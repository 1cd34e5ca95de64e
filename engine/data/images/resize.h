// A part of an image at another size: bilinear where it grows, antialiased where it shrinks (each
// pixel is the mean of what it covers, weighted by a triangle of twice its width), as Pillow and
// PyTorch's antialias=True do it. In integers, so that every machine gives the same pixels.
#pragma once
#include <span>

#include "engine/data/images/rgb_image.h"

namespace spire::inline data {

// In pixels of the source; fractions are welcome. Within the image.
struct Box {
  double top = 0, left = 0, height = 0, width = 0;
};

// Working memory, to be used again: it grows to what the largest image needs.
struct ResizeScratch {
  std::vector<uint8_t> rows;        // (rows of the box, out width, C)
  std::vector<int32_t> sums;        // (out width * C)
  std::vector<int32_t> weights[2];  // of each axis: (out, taps)
  std::vector<int32_t> first[2];    // the source pixel of an output pixel's first weight
  int64_t taps[2] = {0, 0};
};

// pixels (H, W, C) of `size` -> out (out_size, C). Pixels outside of the box have no weight.
void resize(std::span<const uint8_t> pixels, ImageSize size, int64_t channels, const Box& box,
            ImageSize out_size, uint8_t* out, ResizeScratch& scratch);

}  // namespace spire::inline data
