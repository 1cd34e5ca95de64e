#include <algorithm>
#include <cmath>
#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/data/images/image_dataset.h"
#include "engine/data/input_file.h"
#include "tests/data/test_files.h"

namespace spire {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

void write_set(const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  write_file(folder / "train-images-idx3-ubyte.gz",
             gzip(idx_bytes(0x803, {2, 2, 1}, {0, 255, 255, 0})));
  write_file(folder / "train-labels-idx1-ubyte", idx_bytes(0x801, {2}, {4, 1}));
  write_file(folder / "t10k-images-idx3-ubyte", idx_bytes(0x803, {1, 2, 1}, {9, 8}));
  write_file(folder / "t10k-labels-idx1-ubyte.gz", gzip(idx_bytes(0x801, {1}, {2})));
}

TEST(OpenDataset, OpensBothSplits) {
  Folder folder;
  write_set(folder.path());
  DatasetPair pair = open("idx", folder.path());
  EXPECT_EQ(pair.train->count(), 2);
  EXPECT_EQ(pair.test->count(), 1);
  const SampleSpec& spec = pair.train->spec();
  EXPECT_THAT(spec.columns, ElementsAre(Column{"images", {2, 1, 1}, DType::f32},
                                        Column{"labels", {}, DType::i32}));
  EXPECT_EQ(spec.classes, 5);  // as many as the training labels show
  EXPECT_EQ(pair.test->spec().classes, 5);
  EXPECT_THAT(spec.normalization.mean, ElementsAre(0.5));  // exact
  EXPECT_THAT(spec.normalization.stddev, ElementsAre(0.5));
  // In the order asked for.
  EXPECT_THAT(read_column<float>(*pair.train, 0, {1, 0}), ElementsAre(1, -1, -1, 1));
  EXPECT_THAT(read_column<int32_t>(*pair.train, 1, {1, 0}), ElementsAre(1, 4));
}

TEST(OpenDataset, UnknownNamesAreAnsweredWithTheKnownOnes) {
  std::string message = open_refusal(data_at("fashion_mnst", "auto"), Category::config);
  EXPECT_THAT(message, HasAll("'fashion_mnst'", "did you mean 'fashion_mnist'",
                              "must be one of: cifar10, cifar100, csv, fashion_mnist, hdf5, idx, "
                              "image_folder, image_pairs, npy, synthetic, tokens, webdataset"));
  EXPECT_THAT(open_refusal(data_at("zzzzzzzzzz", "auto"), Category::config),
              Not(HasSubstr("did you mean")));
}

TEST(OpenDataset, AutoLooksInTheFolderOfTheEnvironmentFirst) {
  Folder folder;
  write_set(folder / "fashion-mnist");
  ASSERT_EQ(setenv("SPIRE_DATA", folder.path().c_str(), 1), 0);
  DatasetPair pair = open("fashion_mnist", "auto");
  ASSERT_EQ(unsetenv("SPIRE_DATA"), 0);
  EXPECT_EQ(pair.train->count(), 2);
  EXPECT_EQ(pair.train->spec().classes, 10);
}

TEST(FindDatasetFolder, TakesTheFirstFolderWithTrainingImages) {
  Folder folder;
  std::filesystem::create_directories(folder / "empty");
  write_set(folder / "second");
  write_set(folder / "third");
  EXPECT_EQ(
      find_dataset_folder({folder / "none", folder / "empty", folder / "second", folder / "third"},
                          "train-images-idx3-ubyte", ""),
      folder / "second");
}

TEST(ImageDataset, RefusesWhatIsInconsistent) {
  LabelledImages images;
  EXPECT_THROW(ImageDataset(images, {{0}, {1}}, {}, {}), Error);
  images.count = 2, images.height = images.width = images.channels = 1, images.classes = 3;
  images.pixels = {1, 2};
  images.labels = {0};
  EXPECT_THROW(ImageDataset(images, {{0}, {1}}, {}, {}), Error);
}

// Against the two-pass definition over the pixels themselves, channel by channel.
TEST(NormalizationOf, EqualsTheDefinition) {
  LabelledImages dataset;
  dataset.count = 50, dataset.height = 3, dataset.width = 5, dataset.channels = 3;
  for (int i = 0; i < 50 * 3 * 5 * 3; ++i)
    dataset.pixels.push_back(static_cast<uint8_t>((i * i + 31 * (i % 3)) % 251));
  Normalization normalization = normalization_of(dataset);
  ASSERT_EQ(normalization.mean.size(), 3u);
  for (size_t c = 0; c < 3; ++c) {
    double mean = 0, variance = 0, n = 750;
    for (size_t i = c; i < dataset.pixels.size(); i += 3) mean += dataset.pixels[i] / 255.0 / n;
    for (size_t i = c; i < dataset.pixels.size(); i += 3)
      variance += std::pow(dataset.pixels[i] / 255.0 - mean, 2) / n;
    EXPECT_NEAR(normalization.mean[c], mean, 1e-14);
    EXPECT_NEAR(normalization.stddev[c], std::sqrt(variance), 1e-14);
  }
}

TEST(NormalizationOf, DoesNotDependOnTheOrderOfThePixels) {
  LabelledImages dataset;
  dataset.count = 1000, dataset.height = 1, dataset.width = 1, dataset.channels = 1;
  dataset.pixels = pattern(1000);
  Normalization forward = normalization_of(dataset);
  std::reverse(dataset.pixels.begin(), dataset.pixels.end());
  EXPECT_EQ(normalization_of(dataset).mean, forward.mean);
  EXPECT_EQ(normalization_of(dataset).stddev, forward.stddev);
}

// Counts the samples of each of ten classes.
std::vector<int64_t> labels_of(const Dataset& dataset) {
  std::vector<int64_t> counts(10);
  for (int32_t label : read_all<int32_t>(dataset, 1)) ++counts[static_cast<size_t>(label)];
  return counts;
}

TEST(FashionMnist, AgreesWithItsPaper) {
  std::filesystem::path folder = "/usr/share/datasets/fashion-mnist";
  if (find_input(folder / "train-images-idx3-ubyte").empty())
    GTEST_SKIP() << "package dataset-fashion-mnist is not installed";
  DatasetPair pair = open("fashion_mnist", folder);
  EXPECT_EQ(pair.train->count(), 60000);
  EXPECT_EQ(pair.test->count(), 10000);
  const SampleSpec& spec = pair.train->spec();
  EXPECT_EQ(spec.columns[0].shape, Shape({28, 28, 1}));
  EXPECT_EQ(spec.classes, 10);
  EXPECT_NEAR(spec.normalization.mean[0], 0.2860, 5e-5);
  EXPECT_NEAR(spec.normalization.stddev[0], 0.3530, 5e-5);
  EXPECT_THAT(labels_of(*pair.train), Each(6000));  // balanced
  EXPECT_THAT(labels_of(*pair.test), Each(1000));
}

}  // namespace
}  // namespace spire
