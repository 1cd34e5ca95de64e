#include "engine/data/images/images.h"

#include <algorithm>
#include <utility>

#include <spire/error.h>

#include "engine/data/images/normalization.h"

namespace spire::inline data {
namespace {

LabelledImages checked(LabelledImages images) {
  auto count = static_cast<size_t>(images.count);
  require(images.count >= 1 && images.image_size() >= 1, "a dataset without samples");
  require(images.pixels.size() == count * static_cast<size_t>(images.image_size()) &&
              images.labels.size() == count,
          "a dataset of {} samples with {} pixels and {} labels", count, images.pixels.size(),
          images.labels.size());
  return images;
}

// A shuffled image is in no cache: its lines are asked for while the one before is written.
void fetch_ahead(const uint8_t* pixels, int64_t bytes) {
  constexpr int64_t line = 64, most = 64 * line;
  for (int64_t i = 0; i < std::min(bytes, most); i += line) __builtin_prefetch(pixels + i);
}

}  // namespace

ImageDataset::ImageDataset(LabelledImages images, const Normalization& normalization,
                           const AugmentConfig& augment, const ReadOptions& options)
    : images_(checked(std::move(images))),
      writer_(images_.image_shape(), normalization, options.image_dtype(), augment, options.seed),
      spec_{.columns = {{"images", images_.image_shape(), options.image_dtype()},
                        {"labels", {}, DType::i32}},
            .classes = images_.classes,
            .class_names = images_.class_names,
            .normalization = normalization} {}

const uint8_t* ImageDataset::pixels_of(int64_t sample) const {
  return images_.pixels.data() + sample * images_.image_size();
}

void ImageDataset::read(std::span<const int64_t> samples, int64_t epoch,
                        std::span<std::byte* const> columns) const {
  std::byte* image = columns[0];
  auto* labels = reinterpret_cast<int32_t*>(columns[1]);
  for (size_t row = 0; row < samples.size(); ++row, image += writer_.image_bytes()) {
    if (row + 1 < samples.size()) fetch_ahead(pixels_of(samples[row + 1]), images_.image_size());
    int64_t sample = samples[row];
    int32_t label = images_.labels[static_cast<size_t>(sample)];
    if (label < 0 || label >= images_.classes)
      fail(Category::data, "sample {}: label {}, expected 0 to {}", sample, label,
           images_.classes - 1);
    labels[row] = label;
    writer_.write(pixels_of(sample), epoch, sample, image);
  }
}

DatasetPair make_image_pair(LabelledImages train, LabelledImages test, const DataConfig& config,
                            const ReadOptions& options) {
  Normalization normalization = configured_normalization(config, train.channels);
  if (normalization.mean.empty()) normalization = normalization_of(train);
  return {std::make_unique<ImageDataset>(std::move(train), normalization, config.augment, options),
          std::make_unique<ImageDataset>(std::move(test), normalization, AugmentConfig{}, options)};
}

Normalization normalization_of(const LabelledImages& images) {
  PixelHistogram histogram(images.channels);
  histogram.add(images.pixels);
  return histogram.normalization("training images");
}

}  // namespace spire::inline data
