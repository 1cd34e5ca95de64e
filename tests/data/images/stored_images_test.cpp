// Stored images in another size than they are stored in.
#include "engine/data/images/stored_images.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/data/numbered.h"

namespace spire {
namespace {

using testing::HasSubstr;

DataConfig sized(int64_t size, int64_t eval_size = 0) {
  DataConfig config;
  config.normalize = DataConfig::Normalize::unit;
  config.image.size = size;
  config.image.eval_size = eval_size;
  return config;
}

TEST(StoredImages, KeepTheirSizeByDefault) {
  DatasetPair pair = make_image_pair(numbered(3, 6), numbered(2, 6), sized(0), {});
  EXPECT_EQ(pair.train->spec().columns[0].shape, Shape({6, 6, 1}));
  EXPECT_EQ(pair.test->spec().columns[0].shape, Shape({6, 6, 1}));
}

// The whole image is resized.
TEST(StoredImages, AreResized) {
  LabelledImages images = numbered(3, 6);
  DatasetPair pair = make_image_pair(images, images, sized(3, 12), {});
  EXPECT_EQ(pair.train->spec().columns[0].shape, Shape({3, 3, 1}));
  EXPECT_EQ(pair.test->spec().columns[0].shape, Shape({12, 12, 1}));
  for (auto [data, side] : {std::pair(pair.train.get(), 3), std::pair(pair.test.get(), 12)}) {
    Bytes expected(static_cast<size_t>(side * side));
    ResizeScratch scratch;
    resize(std::span(images.pixels).subspan(36, 36), {6, 6}, 1, {0, 0, 6, 6}, {side, side},
           expected.data(), scratch);
    std::vector<float> row = read_column<float>(*data, 0, {1});
    ASSERT_EQ(row.size(), expected.size());
    for (size_t i = 0; i < row.size(); ++i)
      ASSERT_EQ(row[i], static_cast<float>(expected[i] / 255.0));
  }
}

TEST(StoredImages, AreReadAsStoredForConversion) {
  DatasetPair pair =
      make_image_pair(numbered(3, 6), numbered(2, 6), sized(3, 12), {.stored = true});
  EXPECT_EQ(pair.train->spec().columns[0].shape, Shape({6, 6, 1}));
  EXPECT_EQ(pair.test->spec().columns[0].shape, Shape({6, 6, 1}));
}

TEST(StoredImages, RandomPartsAreDrawnBySample) {
  DataConfig config = sized(0);
  config.augment.random_resized_crop = true;
  config.augment.min_scale = 0.2;
  DatasetPair pair = make_image_pair(numbered(3, 16), numbered(3, 16), config, {});
  EXPECT_EQ(pair.train->spec().columns[0].shape, Shape({16, 16, 1}));
  auto row = [&](int64_t epoch) { return read_column<float>(*pair.train, 0, {1}, epoch); };
  EXPECT_EQ(row(1), row(1));
  EXPECT_NE(row(1), row(2));
}

TEST(StoredImages, OfManyChannelsCannotBeResized) {
  LabelledImages images = numbered(1, 6);
  images.channels = 9;
  images.height = images.width = 2;
  EXPECT_THAT(message_of(Category::config, [&] { make_image_pair(images, images, sized(4), {}); }),
              HasSubstr("data.image.size, eval_size: images of 9 channels cannot be resized"));
}

// Each of `fit` for an image twice as wide as it is high.
TEST(StoredImages, FitTheSquare) {
  ImageConfig::Fit fits[] = {ImageConfig::Fit::crop, ImageConfig::Fit::pad,
                             ImageConfig::Fit::squash};
  const Bytes pixels = {10, 20, 30, 40, 50, 60, 70, 80};  // 2 x 4
  std::vector<std::vector<float>> rows;
  for (ImageConfig::Fit fit : fits) {
    StoredImageWriter writer({2, 4, 1}, {.size = 4, .fit = fit}, {{0}, {1.0 / 255}}, {}, {});
    rows.emplace_back(16);
    writer.write(pixels.data(), 0, 0, rows.back().data());
  }
  EXPECT_THAT(std::span(rows[0]).first(4), testing::ElementsAre(20, 23, 28, 30));
  EXPECT_THAT(rows[1],
              testing::ElementsAre(0, 0, 0, 0, 10, 20, 30, 40, 50, 60, 70, 80, 0, 0, 0, 0));
  EXPECT_THAT(std::span(rows[2]).first(4), testing::ElementsAre(10, 20, 30, 40));
}

}  // namespace
}  // namespace spire
