#include "engine/data/images/augment.h"

#include <array>
#include <cmath>
#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/data/images/image_dataset.h"
#include "tests/data/test_files.h"

namespace spire {
namespace {

LabelledImages images_of(int64_t height, int64_t width, int64_t channels) {
  LabelledImages dataset;
  dataset.count = 1, dataset.classes = 2;
  dataset.height = height, dataset.width = width, dataset.channels = channels;
  dataset.pixels = pattern(static_cast<size_t>(dataset.image_size()), 251);
  dataset.labels = {1};
  return dataset;
}

const Normalization three_channels = {{0.25, 0.5, 0.1}, {0.3, 0.2, 0.45}};

Normalization channels_of(int64_t channels) {
  Normalization normalization = three_channels;
  normalization.mean.resize(static_cast<size_t>(channels));
  normalization.stddev.resize(static_cast<size_t>(channels));
  return normalization;
}

// Pads a copy of the image with zeros, cuts the window out, mirrors it, normalizes in double.
std::vector<float> naive(const LabelledImages& image, const Normalization& normalization,
                         const AugmentConfig& options, const ImageTransform& place) {
  auto [h, w, c] = std::array{image.height, image.width, image.channels};
  int64_t pad = options.crop, wide = w + 2 * pad;
  std::vector<uint8_t> padded(static_cast<size_t>((h + 2 * pad) * wide * c));
  for (int64_t y = 0; y < h; ++y)
    for (int64_t i = 0; i < w * c; ++i)
      padded[static_cast<size_t>(((y + pad) * wide + pad) * c + i)] =
          image.pixels[static_cast<size_t>(y * w * c + i)];
  std::vector<float> out(static_cast<size_t>(h * w * c));
  for (int64_t y = 0; y < h; ++y)
    for (int64_t x = 0; x < w; ++x)
      for (int64_t k = 0; k < c; ++k) {
        int64_t from_y = y + place.dy + pad;
        int64_t from_x = (place.flip ? w - 1 - x : x) + place.dx + pad;
        double pixel = padded[static_cast<size_t>((from_y * wide + from_x) * c + k)] / 255.0;
        auto channel = static_cast<size_t>(k);
        out[static_cast<size_t>((y * w + x) * c + k)] = static_cast<float>(
            (pixel - normalization.mean[channel]) / normalization.stddev[channel]);
      }
  return out;
}

// Every placement of small images, found by trying samples until all have been seen.
void compare_with_naive(const AugmentConfig& options, int64_t channels) {
  LabelledImages image = images_of(5, 4, channels);
  Normalization normalization = channels_of(channels);
  ImageWriter f32(image.image_shape(), normalization, DType::f32, options, 3);
  ImageWriter bf16(image.image_shape(), normalization, DType::bf16, options, 3);
  std::vector<float> out(static_cast<size_t>(image.image_size()));
  std::vector<bfloat16> half(out.size());
  for (int64_t sample = 0; sample < 400; ++sample) {
    ImageTransform place = image_transform(options, 3, 6, sample);
    std::vector<float> expected = naive(image, normalization, options, place);
    f32.write(image.pixels.data(), 6, sample, out.data());
    bf16.write(image.pixels.data(), 6, sample, half.data());
    for (size_t i = 0; i < out.size(); ++i) {
      ASSERT_EQ(out[i], expected[i]) << "element " << i << " of sample " << sample;
      ASSERT_EQ(half[i].bits, bfloat16(expected[i]).bits);
    }
  }
}

TEST(ImageWriter, NormalizesToTheBit) {
  for (int64_t channels : {1, 2, 3}) compare_with_naive({}, channels);
}

TEST(ImageWriter, CropsAndFlipsLikeTheNaiveReference) {
  for (int64_t channels : {1, 3})
    for (int64_t crop : {0, 1, 2, 3})
      for (bool flip : {false, true}) compare_with_naive({crop, flip}, channels);
}

TEST(ImageWriter, PaddingIsAZeroPixelBeforeNormalization) {
  LabelledImages image = images_of(4, 4, 1);
  image.pixels.assign(16, 255);
  AugmentConfig options{3, false};
  int64_t sample = 0;  // one that moves the image down
  while (image_transform(options, 1, 0, sample).dy >= 0) ++sample;
  std::vector<float> out(16);
  ImageWriter(image.image_shape(), {{0.25}, {0.5}}, DType::f32, options, 1)
      .write(image.pixels.data(), 0, sample, out.data());
  EXPECT_EQ(out[0], -0.5f);  // (0 - 0.25) / 0.5, not 0
}

TEST(ImageTransform, WithoutAugmentationIsTheImageItself) {
  for (int64_t sample = 0; sample < 100; ++sample) {
    ImageTransform place = image_transform({}, 1, 2, sample);
    EXPECT_EQ(place.dy, 0);
    EXPECT_EQ(place.dx, 0);
    EXPECT_FALSE(place.flip);
  }
}

TEST(ImageTransform, DependsOnSeedEpochAndSampleAlone) {
  AugmentConfig options{4, true};
  auto all = [&](uint64_t seed, int64_t epoch, int64_t first) {
    std::vector<int64_t> draws;
    for (int64_t sample = first; sample < first + 50; ++sample) {
      ImageTransform place = image_transform(options, seed, epoch, sample);
      draws.insert(draws.end(), {place.dy, place.dx, place.flip});
    }
    return draws;
  };
  EXPECT_EQ(all(1, 2, 0), all(1, 2, 0));
  EXPECT_NE(all(1, 2, 0), all(9, 2, 0));
  EXPECT_NE(all(1, 2, 0), all(1, 3, 0));
  EXPECT_NE(all(1, 2, 0), all(1, 2, 50));
}

// n draws of probability p deviate by more than five standard errors once in two million.
void expect_share(int64_t hits, double n, double p) {
  EXPECT_NEAR(static_cast<double>(hits) / n, p, 5 * std::sqrt(p * (1 - p) / n));
}

TEST(ImageTransform, FlipsHalfAndCropsUniformlyAndIndependently) {
  AugmentConfig options{2, true};
  constexpr int64_t n = 40000;
  std::array<std::array<int64_t, 5>, 5> places{};
  int64_t flips = 0, flips_repeated = 0, flips_in_the_corner = 0;
  for (int64_t sample = 0; sample < n; ++sample) {
    ImageTransform place = image_transform(options, 5, 0, sample);
    ASSERT_LE(std::abs(place.dy), 2);
    ASSERT_LE(std::abs(place.dx), 2);
    ++places[static_cast<size_t>(place.dy + 2)][static_cast<size_t>(place.dx + 2)];
    flips += place.flip;
    flips_repeated += place.flip && image_transform(options, 5, 1, sample).flip;
    flips_in_the_corner += place.flip && place.dy == 2 && place.dx == 2;
  }
  for (const auto& row : places)
    for (int64_t hits : row) expect_share(hits, n, 1.0 / 25);
  expect_share(flips, n, 0.5);
  expect_share(flips_repeated, n, 0.25);
  expect_share(flips_in_the_corner, n, 0.02);
}

TEST(ImageWriter, RefusesWhatItCannotWrite) {
  LabelledImages image = images_of(5, 4, 1);
  Normalization one = channels_of(1);
  EXPECT_THAT(message_of(Category::config,
                         [&] {
                           ImageWriter(image.image_shape(), one, DType::f32, {4, false}, 0);
                         }),
              HasAll("data.augment.crop", "5 x 4", "0 to 3"));
  EXPECT_THROW(ImageWriter(image.image_shape(), one, DType::f32, {-1, false}, 0), Error);
  EXPECT_THROW(ImageWriter(image.image_shape(), one, DType::i32, {}, 0), Error);
  EXPECT_THROW(ImageWriter(image.image_shape(), three_channels, DType::f32, {}, 0), Error);
  EXPECT_THROW(ImageWriter(image.image_shape(), {{0.0}, {0.0}}, DType::f32, {}, 0), Error);
}

}  // namespace
}  // namespace spire
