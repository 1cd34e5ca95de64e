#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spire/data/dataset.h>
#include <spire/data/idx.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "tests/data/test_files.h"

namespace spire {
namespace {

using testing::AllOf;
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

TEST(OpenDataset, FillsBothHalves) {
  TemporaryFolder folder;
  write_set(folder.path());
  DatasetPair pair = open_dataset("idx", folder.path().string());
  EXPECT_EQ(pair.train.count, 2);
  EXPECT_EQ(pair.train.height, 2);
  EXPECT_EQ(pair.train.width, 1);
  EXPECT_EQ(pair.train.channels, 1);
  EXPECT_EQ(pair.train.classes, 5);  // as many as the training labels show
  EXPECT_EQ(pair.test.classes, 5);
  EXPECT_THAT(pair.train.labels, ElementsAre(4, 1));
  EXPECT_THAT(pair.test.pixels, ElementsAre(9, 8));
  EXPECT_THAT(pair.normalization.mean, ElementsAre(0.5));  // exact
  EXPECT_THAT(pair.normalization.stddev, ElementsAre(0.5));
}

TEST(OpenDataset, UnknownNamesAreAnsweredWithTheKnownOnes) {
  std::string message = message_of(Category::config, [] { open_dataset("fashion_mnst", "auto"); });
  EXPECT_THAT(message, AllOf(HasSubstr("'fashion_mnst'"), HasSubstr("did you mean 'fashion_mnist'"),
                             HasSubstr("known: fashion_mnist, idx")));
  EXPECT_THAT(message_of(Category::config, [] { open_dataset("zzzzzzzzzz", "auto"); }),
              Not(HasSubstr("did you mean")));
  EXPECT_THAT(dataset_names(), ElementsAre("fashion_mnist", "idx"));
}

TEST(OpenDataset, IdxNeedsAPath) {
  EXPECT_THAT(message_of(Category::config, [] { open_dataset("idx", "auto"); }),
              HasSubstr("data.path"));
}

TEST(OpenDataset, AutoLooksInTheFolderOfTheEnvironmentFirst) {
  TemporaryFolder folder;
  write_set(folder / "fashion-mnist");
  ASSERT_EQ(setenv("SPIRE_DATA", folder.path().c_str(), 1), 0);
  DatasetPair pair = open_dataset("fashion_mnist", "auto");
  ASSERT_EQ(unsetenv("SPIRE_DATA"), 0);
  EXPECT_EQ(pair.train.count, 2);
  EXPECT_EQ(pair.train.classes, 10);
}

TEST(FindDataset, TakesTheFirstFolderWithTrainingImages) {
  TemporaryFolder folder;
  std::filesystem::create_directories(folder / "empty");
  write_set(folder / "second");
  write_set(folder / "third");
  EXPECT_EQ(
      find_dataset({folder / "none", folder / "empty", folder / "second", folder / "third"}, ""),
      folder / "second");
}

TEST(FindDataset, ListsWhereItLooked) {
  TemporaryFolder folder;
  std::string message = message_of(Category::data, [&] {
    find_dataset({folder / "a", folder / "b"}, "apt-get install dataset-fashion-mnist");
  });
  EXPECT_THAT(message,
              AllOf(HasSubstr((folder / "a").string()), HasSubstr((folder / "b").string()),
                    HasSubstr("apt-get install dataset-fashion-mnist"), HasSubstr("data.path")));
}

// Against the two-pass definition over the pixels themselves, channel by channel.
TEST(NormalizationOf, EqualsTheDefinition) {
  Dataset dataset;
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
  Dataset dataset;
  dataset.count = 1000, dataset.height = 1, dataset.width = 1, dataset.channels = 1;
  dataset.pixels = pattern(1000);
  Normalization forward = normalization_of(dataset);
  std::reverse(dataset.pixels.begin(), dataset.pixels.end());
  EXPECT_EQ(normalization_of(dataset).mean, forward.mean);
  EXPECT_EQ(normalization_of(dataset).stddev, forward.stddev);
}

TEST(FashionMnist, IsWhatItsPaperSays) {
  std::filesystem::path folder = "/usr/share/datasets/fashion-mnist";
  if (find_idx(folder / "train-images-idx3-ubyte").empty())
    GTEST_SKIP() << "package dataset-fashion-mnist is not installed";
  DatasetPair pair = open_dataset("fashion_mnist", folder.string());
  EXPECT_EQ(pair.train.count, 60000);
  EXPECT_EQ(pair.test.count, 10000);
  EXPECT_EQ(pair.train.image_size(), 28 * 28);
  EXPECT_EQ(pair.train.classes, 10);
  EXPECT_NEAR(pair.normalization.mean[0], 0.2860, 5e-5);
  EXPECT_NEAR(pair.normalization.stddev[0], 0.3530, 5e-5);
  for (int label = 0; label < 10; ++label) {  // balanced
    EXPECT_EQ(std::count(pair.train.labels.begin(), pair.train.labels.end(), label), 6000);
    EXPECT_EQ(std::count(pair.test.labels.begin(), pair.test.labels.end(), label), 1000);
  }
}

}  // namespace
}  // namespace spire
