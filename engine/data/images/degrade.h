// Degrades images: the model reads a degraded copy of each image and learns the image itself.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <spire/run_config.h>

#include "engine/data/dataset.h"

namespace spire {

// Replaces the datasets of images by datasets with the columns images (degraded), target_images
// (the images as they were), and then the other columns. Augmentation comes first, so it is the
// same for both images. Noise is a function of (seed, epoch, sample). readers: number of threads
// that may read at a time; memory for each is allocated here. Throws Error(config) for data without
// images, or with target images or masks.
DatasetPair degraded(DatasetPair data, const DegradeConfig& config, uint64_t seed,
                     int64_t readers = 1);

// Pixels (H, W, C) from 0 to 1.
struct Pixels {
  int64_t height = 0, width = 0, channels = 0;
  std::vector<float> values = {};
};

// Adds noise from N(0, stddev^2) to each number and clamps it to [0, 1]. noise: as large as values,
// is overwritten.
void add_noise(double stddev, uint64_t seed, int64_t epoch, int64_t sample, std::span<float> noise,
               std::span<float> values);

// Changes `small` to the means of squares of scale x scale pixels, of fewer at the lower and right
// edges: (ceil(H / scale), ceil(W / scale), C).
void shrink(const Pixels& image, int64_t scale, Pixels& small);

// Enlarges images that shrink(.., scale) has made of images of one height and width to that size.
class Enlarger {  // immutable, hence thread-safe
 public:
  Enlarger(int64_t scale, int64_t height, int64_t width, DegradeConfig::Upscale by);

  // Pixel y reads place (y + 1/2) / scale - 1/2 of `small`; places beyond the edges have the
  // nearest pixel's value. nearest: the nearest pixel. bicubic: Keys, "Cubic Convolution
  // Interpolation for Digital Image Processing", 1981, with a = -1/2, clamped to [0, 1]. wide,
  // image: are resized and overwritten.
  void run(const Pixels& small, std::vector<float>& wide, Pixels& image) const;

 private:
  // Of one axis: output pixel i is the sum of weights[i][tap] times pixel pixels[i][tap].
  struct Axis {
    Axis(int64_t scale, int64_t to, DegradeConfig::Upscale by);

    std::vector<std::array<int64_t, 4>> pixels;
    std::vector<std::array<float, 4>> weights;
  };

  Axis rows_, columns_;
};

}  // namespace spire
