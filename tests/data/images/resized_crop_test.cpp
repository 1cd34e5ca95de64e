#include "engine/data/images/resized_crop.h"

#include <algorithm>
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <spire/error.h>

#include "engine/data/images/image_dataset.h"
#include "tests/data/numbered.h"

namespace spire {
namespace {

// The image that the recorded figures are of.
std::vector<uint8_t> recorded_input(int64_t height, int64_t width, int64_t channels) {
  std::vector<uint8_t> pixels;
  for (int64_t y = 0; y < height; ++y)
    for (int64_t x = 0; x < width; ++x)
      for (int64_t c = 0; c < channels; ++c)
        pixels.push_back(static_cast<uint8_t>((y * 37 + x * 91 + c * 53 + x * y * 7) % 256));
  return pixels;
}

std::vector<uint8_t> resized(const std::vector<uint8_t>& pixels, ImageSize size, int64_t channels,
                             const Box& box, ImageSize out_size) {
  std::vector<uint8_t> out(static_cast<size_t>(out_size.height * out_size.width * channels));
  ResizeScratch scratch;
  resize(pixels, size, channels, box, out_size, out.data(), scratch);
  return out;
}

Box whole(ImageSize size) {
  return {0, 0, static_cast<double>(size.height), static_cast<double>(size.width)};
}

struct Recorded {
  ImageSize size;
  int64_t channels;
  ImageSize out;
  std::vector<double> values;
};

// torch 2.15: F.interpolate(x, out, mode='bilinear', antialias=True) of the float64 image. Both
// passes round to whole numbers here, so that a value may differ by a half for each.
TEST(Resize, FollowsPyTorch) {
  const std::vector<Recorded> all = {
      {{7, 9}, 1, {4, 5}, {72.605,  134.452, 113.364, 103.167, 144.442, 122.651, 118.875,
                           145.016, 110.885, 128.229, 115.44,  138.165, 142.941, 127.275,
                           142.777, 148.524, 145.262, 153.454, 152.548, 95.844}},
      {{3, 2}, 1, {5, 4}, {0.0,    22.75, 68.25, 91.0,   14.8,   38.25, 85.15,
                           108.6,  37.0,  61.5,  110.5,  135.0,  59.2,  84.75,
                           135.85, 161.4, 74.0,  100.25, 152.75, 179.0}},
      {{16, 11},
       1,
       {3, 3},
       {123.645, 128.218, 137.987, 125.104, 132.276, 127.323, 127.155, 135.01, 134.19}},
      {{6, 6},
       3,
       {2, 3},
       {103.786, 129.357, 145.786, 127.625, 132.625, 129.625, 121.75, 147.321, 113.464, 117.357,
        142.929, 145.643, 135.875, 140.875, 133.875, 142.964, 127.393, 116.393}}};
  for (const Recorded& one : all) {
    auto out = resized(recorded_input(one.size.height, one.size.width, one.channels), one.size,
                       one.channels, whole(one.size), one.out);
    ASSERT_EQ(out.size(), one.values.size());
    for (size_t i = 0; i < out.size(); ++i) EXPECT_NEAR(out[i], one.values[i], 1.0) << i;
  }
}

TEST(Resize, SameSizeIsTheSamePixels) {
  for (int64_t channels : {1, 2, 3, 4}) {
    auto pixels = recorded_input(9, 7, channels);
    EXPECT_EQ(resized(pixels, {9, 7}, channels, whole({9, 7}), {9, 7}), pixels);
  }
}

TEST(Resize, OneColorStaysThatColor) {
  for (int value : {0, 1, 127, 254, 255})
    for (ImageSize out : {ImageSize{3, 50}, ImageSize{40, 2}, ImageSize{1, 1}, ImageSize{64, 64}}) {
      std::vector<uint8_t> pixels(31 * 33 * 3, static_cast<uint8_t>(value));
      auto made = resized(pixels, {31, 33}, 3, {2.5, 3.25, 20.5, 19.75}, out);
      EXPECT_EQ(std::ranges::count(made, value), std::ssize(made));
    }
}

// A box of whole pixels sees nothing beyond its edges, as if it had been cut out before.
TEST(Resize, BoxIsWhatIsCutOut) {
  auto pixels = recorded_input(20, 24, 3);
  std::vector<uint8_t> cut;
  for (int64_t y = 5; y < 16; ++y)
    for (int64_t x = 4; x < 21; ++x)
      for (int64_t c = 0; c < 3; ++c)
        cut.push_back(pixels[static_cast<size_t>((y * 24 + x) * 3 + c)]);
  for (ImageSize out : {ImageSize{4, 4}, ImageSize{30, 31}, ImageSize{11, 17}})
    EXPECT_EQ(resized(pixels, {20, 24}, 3, {5, 4, 11, 17}, out),
              resized(cut, {11, 17}, 3, whole({11, 17}), out));
}

TEST(Resize, HalvesOfALineAreTheirMeans) {
  // The triangle of a reduction by two: weights 1 3 3 1 over 8, cut off at the edges.
  std::vector<uint8_t> line = {0, 40, 80, 200};
  EXPECT_EQ(
      resized(line, {1, 4}, 1, whole({1, 4}), {1, 2}),
      (std::vector<uint8_t>{static_cast<uint8_t>(std::lround((3 * 0 + 3 * 40 + 80) / 7.0)),
                            static_cast<uint8_t>(std::lround((40 + 3 * 80 + 3 * 200) / 7.0))}));
}

TEST(Resize, RefusesEmptyBoxesAndFiveChannels) {
  std::vector<uint8_t> pixels(4);
  ResizeScratch scratch;
  EXPECT_THROW(resize(pixels, {2, 2}, 1, {0, 0, 0, 2}, {1, 1}, pixels.data(), scratch), Error);
  EXPECT_THROW(resize(pixels, {2, 2}, 5, {0, 0, 2, 2}, {1, 1}, pixels.data(), scratch), Error);
}

TEST(RandomResizedCrop, LiesWithinTheImageAndTheBounds) {
  for (ImageSize size : {ImageSize{300, 400}, ImageSize{224, 224}, ImageSize{500, 333}})
    for (double min_scale : {0.08, 0.5, 1.0}) {
      double least = 1, most = 0;
      for (int64_t sample = 0; sample < 500; ++sample) {
        Box box = random_resized_crop(size, min_scale, 7, 3, sample);
        ASSERT_GE(box.top, 0);
        ASSERT_GE(box.left, 0);
        ASSERT_LE(box.top + box.height, static_cast<double>(size.height));
        ASSERT_LE(box.left + box.width, static_cast<double>(size.width));
        double area = box.height * box.width / static_cast<double>(size.height * size.width);
        double ratio = box.width / box.height;
        ASSERT_GT(area, min_scale * 0.97 * (min_scale == 1.0 ? 0.5 : 1));
        ASSERT_LE(area, 1.0);
        ASSERT_GT(ratio, 0.73);
        ASSERT_LT(ratio, 1.37);
        least = std::min(least, area), most = std::max(most, area);
      }
      if (min_scale == 0.08) {
        EXPECT_LT(least, 0.1);
        EXPECT_GT(most, 0.85);
      }
    }
}

TEST(RandomResizedCrop, IsAFunctionOfSeedEpochAndSample) {
  auto at = [](uint64_t seed, int64_t epoch, int64_t sample) {
    Box box = random_resized_crop({300, 400}, 0.08, seed, epoch, sample);
    return std::vector<double>{box.top, box.left, box.height, box.width};
  };
  EXPECT_EQ(at(1, 2, 3), at(1, 2, 3));
  EXPECT_NE(at(1, 2, 3), at(2, 2, 3));
  EXPECT_NE(at(1, 2, 3), at(1, 3, 3));
  EXPECT_NE(at(1, 2, 3), at(1, 2, 4));
}

// No crop of such a ratio fits: the middle of the strip is taken, as wide as it may be.
TEST(RandomResizedCrop, TakesTheMiddleOfAStrip) {
  Box box = random_resized_crop({10, 1000}, 1.0, 1, 0, 0);
  EXPECT_EQ(box.height, 10);
  EXPECT_EQ(box.width, 13);
  EXPECT_EQ(box.left, 493);
  Box pixel = random_resized_crop({1, 1}, 0.08, 1, 0, 0);
  EXPECT_EQ(pixel.height, 1);
  EXPECT_EQ(pixel.width, 1);
}

TEST(Cropper, EvaluationTakesTheMiddle) {
  Cropper cropper({224, 224}, {}, 1);
  Box box = cropper.box({512, 256}, 5, 6);
  EXPECT_EQ(box.top, 144);
  EXPECT_EQ(box.left, 16);
  EXPECT_EQ(box.height, 224);
  EXPECT_EQ(box.width, 224);
}

// 7/8 of the largest part of the shape, which touches two sides.
TEST(Cropper, TheMiddleHasTheShapeOfTheResult) {
  for (ImageSize image : {ImageSize{512, 256}, ImageSize{64, 1024}}) {
    Box box = Cropper({32, 16}, {}, 1).box(image, 0, 0);
    EXPECT_EQ(box.height, 2 * box.width);
    EXPECT_EQ(box.height, static_cast<double>(image.height) * 7 / 8);
    EXPECT_EQ(2 * box.left + box.width, static_cast<double>(image.width));
    EXPECT_EQ(2 * box.top + box.height, static_cast<double>(image.height));
  }
  Box tall = Cropper({16, 32}, {}, 1).box({1000, 320}, 0, 0);
  EXPECT_EQ(tall.width, 280);
  EXPECT_EQ(tall.height, 140);
}

TEST(Cropper, ReductionLeavesEnoughPixels) {
  Cropper cropper({100, 100}, {}, 1);
  EXPECT_EQ(cropper.reduction({0, 0, 99, 300}), 1);
  EXPECT_EQ(cropper.reduction({0, 0, 199, 300}), 1);
  EXPECT_EQ(cropper.reduction({0, 0, 200, 300}), 2);
  EXPECT_EQ(cropper.reduction({0, 0, 450, 400}), 4);
  EXPECT_EQ(cropper.reduction({0, 0, 9000, 800}), 8);
}

// Stored images in another size than they are stored in.

using testing::HasSubstr;

DataConfig sized(int64_t size, int64_t eval_size = 0) {
  DataConfig config;
  config.normalize = DataConfig::Normalize::unit;
  config.image.size = size;
  config.image.eval_size = eval_size;
  return config;
}

TEST(StoredImages, KeepTheirSizeByDefaultAndForConversion) {
  for (const auto& [config, options] :
       {std::pair(sized(0), ReadOptions{}), {sized(3, 12), ReadOptions{.as_stored = true}}}) {
    DatasetPair pair = make_image_pair(numbered(3, 6), numbered(2, 6), config, options);
    EXPECT_EQ(pair.train->spec().columns[0].shape, Shape({6, 6, 1}));
    EXPECT_EQ(pair.test->spec().columns[0].shape, Shape({6, 6, 1}));
  }
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
