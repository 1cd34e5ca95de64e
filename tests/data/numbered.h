// A dataset whose samples can be told apart, and the options its loaders are tested with.
#pragma once
#include "engine/data/images/image_dataset.h"
#include "engine/data/loader.h"
#include "tests/data/test_files.h"

namespace spire {

// Sample i has the label i and an image whose first pixel is i.
inline LabelledImages numbered(int64_t count, int64_t side = 2) {
  LabelledImages dataset;
  dataset.count = count, dataset.classes = count;
  dataset.height = dataset.width = side, dataset.channels = 1;
  dataset.pixels = pattern(static_cast<size_t>(count * dataset.image_size()));
  for (int64_t i = 0; i < count; ++i) {
    dataset.labels.push_back(static_cast<int32_t>(i));
    dataset.pixels[static_cast<size_t>(i * dataset.image_size())] = static_cast<uint8_t>(i);
  }
  return dataset;
}

inline const Normalization normalization = {{0.5}, {0.25}};

// As a loader reads them.
inline ImageDataset readable(const LabelledImages& images, DType dtype = DType::f32,
                             const AugmentConfig& augment = {}) {
  return ImageDataset(images, normalization, augment, {dtype, 77});
}

inline LoaderOptions options_of(int64_t batch_size, int64_t towers, int64_t workers) {
  LoaderOptions options;
  options.batch_size = batch_size;
  options.towers = towers;
  options.workers = workers;
  options.prefetch = 2;
  options.seed = 77;
  return options;
}

}  // namespace spire
