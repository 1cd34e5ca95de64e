// Dataset of numbered samples, and options of its loaders.
#pragma once
#include <cstring>
#include <memory>

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

inline LoaderOptions range_of(LoaderOptions options, int64_t first, int64_t count) {
  options.first_tower = first;
  options.tower_count = count;
  return options;
}

// Returns the columns of all batches of three epochs, one after another.
inline std::vector<std::byte> batches_of(const Dataset& dataset, const LoaderOptions& options) {
  BatchLoader loader(dataset, options);
  loader.start(0, 0, 3);
  auto rows = static_cast<size_t>(options.batch_size * options.towers);
  std::vector<std::byte> all;
  while (!loader.finished()) {
    const Batch& batch = loader.next();
    for (size_t c = 0; c < batch.columns.size(); ++c)
      all.insert(all.end(), batch.columns[c],
                 batch.columns[c] + rows * loader.columns()[c].row_bytes());
  }
  return all;
}

// The rows of `part` are those of `whole` at the same place, byte for byte.
inline void expect_rows(const std::vector<Column>& columns, const Batch& whole, const Batch& part,
                        int64_t rows) {
  ASSERT_EQ(part.valid, whole.valid);
  ASSERT_EQ(part.epoch, whole.epoch);
  ASSERT_EQ(part.step_in_epoch, whole.step_in_epoch);
  ASSERT_EQ(part.first_position, whole.first_position);
  for (size_t c = 0; c < columns.size(); ++c) {
    size_t bytes = columns[c].row_bytes();
    ASSERT_EQ(
        std::memcmp(part.columns[c], whole.columns[c] + static_cast<size_t>(part.first_row) * bytes,
                    static_cast<size_t>(rows) * bytes),
        0);
  }
}

// Expects that loaders of the towers [0, cuts[0]), [cuts[0], cuts[1]), ... up to the last tower,
// each with its own number of workers, read what one loader of all reads. Returns how many of their
// batches have no sample.
inline int64_t expect_union(const Dataset& dataset, LoaderOptions options,
                            std::vector<int64_t> cuts) {
  BatchLoader whole(dataset, options);
  std::vector<std::unique_ptr<BatchLoader>> parts;
  cuts.insert(cuts.begin(), 0);
  cuts.push_back(options.towers);
  for (size_t i = 0; i + 1 < cuts.size(); ++i) {
    options.workers = static_cast<int64_t>(i % 3);
    parts.push_back(
        std::make_unique<BatchLoader>(dataset, range_of(options, cuts[i], cuts[i + 1] - cuts[i])));
    parts.back()->start(0, 0, 2);
  }
  whole.start(0, 0, 2);
  int64_t without_samples = 0;
  while (!whole.finished()) {
    const Batch& batch = whole.next();
    EXPECT_EQ(batch.first_row, 0);
    for (size_t i = 0; i < parts.size(); ++i) {
      const Batch& part = parts[i]->next();
      EXPECT_EQ(part.first_row, cuts[i] * options.batch_size);
      expect_rows(whole.columns(), batch, part, (cuts[i + 1] - cuts[i]) * options.batch_size);
      if (testing::Test::HasFatalFailure()) return 0;
      without_samples += part.valid <= part.first_row ? 1 : 0;
    }
  }
  for (auto& part : parts) EXPECT_TRUE(part->finished());
  return without_samples;
}

}  // namespace spire
