// Which part of an image a model sees, and the image at the size that it reads.
#pragma once
#include <spire/run_config.h>

#include "engine/data/images/resize.h"

namespace spire::inline data {

// A part of min_scale to 1 of the area and of a ratio of 3/4 to 4/3, both drawn by
// (seed, epoch, sample), as Szegedy et al. (2015) train on ImageNet. Whole pixels.
Box random_resized_crop(ImageSize size, double min_scale, uint64_t seed, int64_t epoch,
                        int64_t sample);

// The middle part of the shape of `out` whose sides are 7/8 of the largest such part's: what is
// left of an image whose shorter side is resized to 256 pixels and that is cropped to 224 x 224.
Box center_crop(ImageSize size, ImageSize out = {1, 1});

// How images of any size become those of one size. Immutable, so any thread may use it.
class Cropper {
 public:
  // size: of what it makes. `augment`: random crops are drawn if it asks for them.
  Cropper(ImageSize size, const AugmentConfig& augment, uint64_t seed)
      : size_(size), augment_(augment), seed_(seed) {}

  Box box(ImageSize image, int64_t epoch, int64_t sample) const;
  // The largest reduction of a JPEG (1, 2, 4, 8) that leaves enough pixels of the box.
  int reduction(const Box& box) const;
  // The box of an image decoded at 1 / reduce -> out (size, C).
  void crop(std::span<const uint8_t> pixels, ImageSize decoded, int64_t channels, Box box,
            int reduce, uint8_t* out, ResizeScratch& scratch) const;

 private:
  ImageSize size_;
  AugmentConfig augment_;
  uint64_t seed_;
};

}  // namespace spire::inline data
