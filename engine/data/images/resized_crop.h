// Crops an image of any size and resizes the crop to the size that a model reads.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include <spire/run_config.h>

#include "engine/data/images/image_decode.h"

namespace spire::inline data {

struct Box {  // in pixels; fractions are allowed
  double top = 0, left = 0, height = 0, width = 0;
};

struct ResizeScratch {              // working memory of resize(), reused
  std::vector<uint8_t> rows;        // (rows of the box, out width, C)
  std::vector<int32_t> sums;        // (out width * C)
  std::vector<int32_t> weights[2];  // of each axis, y then x: (out, taps)
  std::vector<int32_t> first[2];    // (out): the source pixel of the first weight
  int64_t taps[2] = {0, 0};
};

// Resizes a box: pixels (H, W, C) of `size` -> out (out_size, C), C from 1 to 4. Bilinear;
// shrinking is antialiased as in Pillow and PyTorch (antialias=True). Pixels outside of the box
// have no weight. Integers give the same pixels on every machine.
void resize(std::span<const uint8_t> pixels, ImageSize size, int64_t channels, const Box& box,
            ImageSize out_size, uint8_t* out, ResizeScratch& scratch);

// Draws a box of min_scale to 1 of the area and an aspect ratio of 3/4 to 4/3 by (seed, epoch,
// sample), as in Szegedy et al. (2015).
Box random_resized_crop(ImageSize size, double min_scale, uint64_t seed, int64_t epoch,
                        int64_t sample);

// Returns the middle box of `out`'s aspect ratio with 7/8 of the longest sides, as 224 of 256
// pixels.
Box center_crop(ImageSize size, ImageSize out = {1, 1});

// Chooses the box of each image and crops it to one size. Immutable: any thread may use it.
class Cropper {
 public:
  Cropper(ImageSize size, const AugmentConfig& augment, uint64_t seed)  // size: of the results
      : size_(size), augment_(augment), seed_(seed) {}

  Box box(ImageSize image, int64_t epoch, int64_t sample) const;

  // Returns the largest reduction of a JPEG (1, 2, 4, 8) that keeps at least the result's pixels.
  int reduction(const Box& box) const;

  // pixels (decoded, C), decoded at 1 / reduce -> out (size, C). `box` is in pixels of the whole
  // image.
  void crop(std::span<const uint8_t> pixels, ImageSize decoded, int64_t channels, Box box,
            int reduce, uint8_t* out, ResizeScratch& scratch) const;

 private:
  ImageSize size_;
  AugmentConfig augment_;
  uint64_t seed_;
};

}  // namespace spire::inline data
