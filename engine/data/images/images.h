// Labelled images in memory, as their files hold them, and the dataset made of them.
#pragma once
#include "engine/data/dataset.h"
#include "engine/data/images/augment.h"

namespace spire::inline data {

struct LabelledImages {
  std::vector<uint8_t> pixels;  // (N, H, W, C)
  std::vector<int32_t> labels;  // (N), each in [0, classes)
  int64_t count = 0, height = 0, width = 0, channels = 0, classes = 0;
  std::vector<std::string> class_names = {};  // (classes), or empty: unknown
  std::vector<std::filesystem::path> files = {};

  int64_t image_size() const { return height * width * channels; }  // elements
  Shape image_shape() const { return {height, width, channels}; }
};

// Mean and population standard deviation, in fp64 from a histogram of the pixels (so exact up to
// the last rounding, and independent of their order). Throws Error(data) for a constant channel.
Normalization normalization_of(const LabelledImages& images);

// Columns: images, labels. A label out of range is Error(data) when it is read.
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

// Training images with the config's augmentation, test images as they are, both normalized by the
// training images.
DatasetPair make_image_pair(LabelledImages train, LabelledImages test, const DataConfig& config,
                            const ReadOptions& options);

}  // namespace spire::inline data
