// Crops an image of any size and resizes the crop to the size that a model reads.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include <spire/run_config.h>

#include "engine/data/images/image_formats.h"

namespace spire {

struct Box {  // a part of an image, in pixels; fractions are allowed
  double top = 0, left = 0, height = 0, width = 0;
};

struct ResizeScratch {              // working memory of resize(), which later calls reuse
  std::vector<uint8_t> rows;        // (rows of the box, output width, C)
  std::vector<int32_t> sums;        // (output width * C)
  std::vector<int32_t> weights[2];  // for y and for x: (output pixels, taps)
  std::vector<int32_t> first[2];    // (output pixels): source pixel of the first tap
  int64_t taps[2] = {0, 0};
};

// Resizes a box of pixels (H, W, C), `size` = (H, W), C = 1..4, to `out` (out_size, C). Bilinear;
// shrinking is antialiased as in Pillow and PyTorch (antialias=True). Pixels outside of the box
// have no weight. Integers give the same pixels on every machine. row_bytes: from a row of `out` to
// the next; 0: they follow one another.
void resize(std::span<const uint8_t> pixels, ImageSize size, int64_t channels, const Box& box,
            ImageSize out_size, uint8_t* out, ResizeScratch& scratch, int64_t row_bytes = 0);

// Returns a random box with a share of min_scale to 1 of the image's area and an aspect ratio of
// 3/4 to 4/3 (Szegedy et al. 2015), a function of (size, min_scale, seed, epoch, sample).
Box random_resized_crop(ImageSize size, double min_scale, uint64_t seed, int64_t epoch,
                        int64_t sample);

inline constexpr double photo_share = 7.0 / 8;  // of a photo's sides, as 224 of 256 pixels

// Returns a box in the middle of the image with the aspect ratio of `out`. Its sides are a share of
// those of the largest such box, or of the smallest one around the whole image.
Box center_crop(ImageSize size, ImageSize out = {1, 1}, double share = photo_share,
                bool around = false);

struct Framing {  // what of an image is taken where no box is drawn at random
  ImageConfig::Fit fit = ImageConfig::Fit::crop;
  double share = photo_share;  // fit: crop: as in center_crop()
};

// Chooses a box of each image and resizes all boxes to one size. Immutable, hence thread-safe.
class Cropper {
 public:
  // size: that of the results.
  Cropper(ImageSize size, const AugmentConfig& augment, uint64_t seed, const Framing& framing = {})
      : size_(size), augment_(augment), seed_(seed), framing_(framing) {}

  Box box(ImageSize image, int64_t epoch, int64_t sample) const;

  // Returns the largest reduction of a JPEG (1, 2, 4, 8) that keeps the box as large as the result.
  int reduction(const Box& box) const;

  // pixels (decoded, C), decoded at 1 / reduce -> out (size, C). box: in pixels of the full image;
  // where it reaches beyond the image, `out` is 0.
  void crop(std::span<const uint8_t> pixels, ImageSize decoded, int64_t channels, Box box,
            int reduce, uint8_t* out, ResizeScratch& scratch) const;
  // The same for labels (H, W), which cannot be averaged: the nearest pixel's label.
  void crop_labels(std::span<const uint8_t> labels, ImageSize image, const Box& box,
                   uint8_t* out) const;

 private:
  ImageSize size_;
  AugmentConfig augment_;
  uint64_t seed_;
  Framing framing_;
};

}  // namespace spire
