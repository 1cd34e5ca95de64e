// Labelled images in memory as a dataset, and the normalization of their pixels.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "engine/data/dataset.h"
#include "engine/data/images/augment.h"

namespace spire::inline data {

struct LabelledImages {
  std::vector<uint8_t> pixels;  // (N, H, W, C)
  std::vector<int32_t> labels;  // (N), each in [0, classes)
  int64_t count = 0, height = 0, width = 0, channels = 0, classes = 0;
  std::vector<std::string> class_names = {};  // (classes); empty: unknown
  std::vector<std::filesystem::path> files = {};

  int64_t image_size() const { return height * width * channels; }  // elements
  Shape image_shape() const { return {height, width, channels}; }
};

// Columns: images (H, W, C), normalized, and labels (). Throws Error(data) for labels out of range.
class ImageDataset : public Dataset {
 public:
  ImageDataset(LabelledImages images, const Normalization& normalization,
               const AugmentConfig& augment, const ReadOptions& options);

  const SampleSpec& spec() const override { return spec_; }
  int64_t count() const override { return images_.count; }
  void read(std::span<const int64_t> samples, int64_t epoch,
            std::span<std::byte* const> columns) const override;
  std::vector<std::filesystem::path> files() const override { return images_.files; }

 private:
  const uint8_t* pixels_of(int64_t sample) const;

  LabelledImages images_;
  ImageWriter writer_;
  SampleSpec spec_;
};

// Augments the training images; normalizes both by the config, or else by the training images.
DatasetPair make_image_pair(LabelledImages train, LabelledImages test, const DataConfig& config,
                            const ReadOptions& options);

// Histogram of pixel values, by channel.
class PixelHistogram {
 public:
  explicit PixelHistogram(int64_t channels) : counts_(static_cast<size_t>(channels)) {}

  void add(std::span<const uint8_t> pixels);  // (.., C)

  // Returns mean and population standard deviation of pixel / 255, in fp64: the same in any order
  // of the pixels. Throws Error(data), which begins with `what`, for a channel of one value.
  Normalization normalization(const std::string& what) const;

 private:
  std::vector<std::array<int64_t, 256>> counts_;
};

Normalization normalization_of(const LabelledImages& images);  // throws as PixelHistogram

// Returns the normalization that the config asks for: data.normalize unit, or data.mean and
// data.stddev, each of `channels` numbers, else Error(config). Empty: the dataset's own.
Normalization configured_normalization(const DataConfig& config, int64_t channels);

}  // namespace spire::inline data
