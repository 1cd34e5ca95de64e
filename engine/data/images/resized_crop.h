// Crops an image of any size and resizes the crop to the size that a model reads.
#pragma once
#include <span>
#include <vector>

#include <spire/run_config.h>

#include "engine/data/images/image_decode.h"

namespace spire::inline data {

// A rectangle within an image, in pixels; fractions are allowed.
struct Box {
  double top = 0, left = 0, height = 0, width = 0;
};

// Working memory of resize(); it grows to the needs of the largest image and is reused.
struct ResizeScratch {
  std::vector<uint8_t> rows;        // (rows of the box, out width, C)
  std::vector<int32_t> sums;        // (out width * C)
  std::vector<int32_t> weights[2];  // of each axis, y then x: (out, taps)
  std::vector<int32_t> first[2];    // (out): the source pixel of the first weight
  int64_t taps[2] = {0, 0};
};

// Resizes a box: pixels (H, W, C) of `size` -> out (out_size, C), C from 1 to 4. Enlarging is
// bilinear; shrinking is antialiased, as in Pillow and PyTorch's antialias=True: a weighted mean by
// a triangle of twice the width of an output pixel. Pixels outside of the box have no weight.
// Integers give the same pixels on every machine.
void resize(std::span<const uint8_t> pixels, ImageSize size, int64_t channels, const Box& box,
            ImageSize out_size, uint8_t* out, ResizeScratch& scratch);

// Draws a box of min_scale to 1 of the area and an aspect ratio of 3/4 to 4/3 by (seed, epoch,
// sample), as Szegedy et al. (2015) train on ImageNet. Whole pixels.
Box random_resized_crop(ImageSize size, double min_scale, uint64_t seed, int64_t epoch,
                        int64_t sample);

// Returns the middle box of the aspect ratio of `out`, its sides 7/8 of the largest possible ones.
// That equals resizing the shorter side to 256 pixels and cropping 224 x 224.
Box center_crop(ImageSize size, ImageSize out = {1, 1});

// Chooses the box of each image and crops it to one size. Immutable: any thread may use it.
class Cropper {
 public:
  // size: of the results. Crops are random where `augment` asks for that, else centered.
  Cropper(ImageSize size, const AugmentConfig& augment, uint64_t seed)
      : size_(size), augment_(augment), seed_(seed) {}

  Box box(ImageSize image, int64_t epoch, int64_t sample) const;

  // Returns the largest reduction of a JPEG (1, 2, 4, 8) that keeps at least the result's pixels.
  int reduction(const Box& box) const;

  // Crops an image that was decoded at 1 / reduce of its size: pixels (decoded, C) -> out (size,
  // C). `box` is in pixels of the whole image.
  void crop(std::span<const uint8_t> pixels, ImageSize decoded, int64_t channels, Box box,
            int reduce, uint8_t* out, ResizeScratch& scratch) const;

 private:
  ImageSize size_;
  AugmentConfig augment_;
  uint64_t seed_;
};

}  // namespace spire::inline data
