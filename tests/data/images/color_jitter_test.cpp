#include <algorithm>
#include <cmath>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/data/images/augment.h"
#include "engine/data/images/colors.h"
#include "engine/data/images/rand_augment.h"
#include "engine/data/images/warp.h"
#include "tests/data/numbered.h"

namespace spire {
namespace {

using testing::HasSubstr;

constexpr int32_t one = ColorFactors::one;

Bytes changed(const ColorFactors& factors, Bytes pixels, int64_t channels = 3) {
  change_colors(factors, channels, pixels);
  return pixels;
}

TEST(ColorJitter, FactorsOfOneChangeNothing) {
  Bytes pixels = pattern(300);
  EXPECT_EQ(changed({}, pixels), pixels);
  EXPECT_EQ(changed({one, one, one}, pixels, 1), pixels);
}

TEST(ColorJitter, BrightnessMultiplies) {
  EXPECT_EQ(changed({.brightness = one / 2}, {0, 100, 255}), (Bytes{0, 50, 128}));
  EXPECT_EQ(changed({.brightness = 2 * one}, {0, 100, 200}), (Bytes{0, 200, 255}));
  EXPECT_EQ(changed({.brightness = 0}, {9, 100, 200}), (Bytes{0, 0, 0}));
}

TEST(ColorJitter, ContrastIsAroundTheMeanGray) {
  EXPECT_EQ(changed({.contrast = 0}, {10, 20, 60, 70}, 1), Bytes(4, 40));
  EXPECT_EQ(changed({.contrast = 2 * one}, {10, 20, 60, 70}, 1), (Bytes{0, 0, 80, 100}));
}

// Gray of a pixel: 0.299 x 200 + 0.587 x 100 + 0.114 x 50 = 124.2.
TEST(ColorJitter, SaturationIsAroundThePixelsGray) {
  EXPECT_EQ(changed({.saturation = 0}, {200, 100, 50}), Bytes(3, 124));
  EXPECT_EQ(changed({.saturation = one / 2}, {200, 100, 50}), (Bytes{162, 112, 87}));
  EXPECT_EQ(changed({.saturation = 0}, {200, 100, 50}, 1), (Bytes{200, 100, 50}));
}

// Against the definition in float64, for random factors: rounded after each of the three steps.
TEST(ColorJitter, FollowsTheDefinition) {
  for (int64_t sample = 0; sample < 50; ++sample) {
    ColorFactors factors = color_factors({0.4, 0.5, 0.9}, 3, 1, sample);
    Bytes pixels = pattern(60, 251), made = changed(factors, pixels);
    std::vector<double> expected(pixels.begin(), pixels.end());
    auto blend = [](double from, double to, int32_t factor) {
      return std::clamp(std::floor(from + (to - from) * factor / 65536.0 + 0.5), 0.0, 255.0);
    };
    auto gray = [&](size_t i) {
      return std::round(0.299 * expected[i] + 0.587 * expected[i + 1] + 0.114 * expected[i + 2]);
    };
    for (double& v : expected) v = blend(0, v, factors.brightness);
    double sum = 0;
    for (size_t i = 0; i < 60; i += 3) sum += gray(i);
    double mean = std::round(sum / 20);
    for (double& v : expected) v = blend(mean, v, factors.contrast);
    for (size_t i = 0; i < 60; i += 3) {
      double of_pixel = gray(i);
      for (size_t c = 0; c < 3; ++c)
        expected[i + c] = blend(of_pixel, expected[i + c], factors.saturation);
    }
    // Grays within 1e-5 of a half may round the other way.
    for (size_t i = 0; i < 60; ++i) EXPECT_NEAR(made[i], expected[i], 1) << sample;
    EXPECT_GT(std::inner_product(made.begin(), made.end(), expected.begin(), 0, std::plus<>(),
                                 [](double a, double b) { return a == b ? 1 : 0; }),
              54);
  }
}

TEST(ColorJitter, FactorsAreUniformWithinTheirStrength) {
  double sum = 0, least = 9, most = 0;
  for (int64_t sample = 0; sample < 2000; ++sample) {
    ColorFactors factors = color_factors({0.4, 0, 3}, 1, 2, sample);
    double brightness = factors.brightness / 65536.0;
    sum += brightness, least = std::min(least, brightness), most = std::max(most, brightness);
    EXPECT_EQ(factors.contrast, one);
    EXPECT_GE(factors.saturation, 0);
    EXPECT_LE(factors.saturation, 4 * one);
  }
  EXPECT_NEAR(sum / 2000, 1, 5 * 0.8 / std::sqrt(12.0 * 2000));
  EXPECT_GE(least, 0.6);
  EXPECT_LT(least, 0.61);
  EXPECT_LE(most, 1.4);
  EXPECT_GT(most, 1.39);
  EXPECT_NE(color_factors({0.4, 0, 0}, 1, 2, 3).brightness,
            color_factors({0.4, 0, 0}, 1, 3, 3).brightness);
}

// The writer crops and flips, warps, applies RandAugment, changes colors, then normalizes.
template <typename T>
void expect_written(DType dtype, const AugmentConfig& options) {
  constexpr int64_t height = 5, width = 4, count = height * width * 3;
  const Normalization by = {{0.5, 0.4, 0.3}, {0.25, 0.5, 1}};
  AugmentConfig plain = {2, true};
  ImageWriter geometry({height, width, 3}, {{0, 0, 0}, {1, 1, 1}}, DType::f32, plain, 7);
  ImageWriter writer({height, width, 3}, by, dtype, options, 7);
  Bytes pixels = pattern(count, 253);
  for (int64_t sample = 0; sample < 20; ++sample) {
    std::vector<float> moved(count);
    geometry.write(pixels.data(), 3, sample, moved.data());
    Bytes bytes, spare(count);
    for (float value : moved) bytes.push_back(static_cast<uint8_t>(std::lround(value * 255)));
    ImageVersions image{{height, width}, 3, bytes.data(), spare.data()};
    warp(affine_map(random_affine(options.affine, image.size, 7, 3, sample)), image.size, 3,
         Interpolation::bilinear, image.now, image.next);
    image.renew();
    rand_augment(options.rand_augment, 7, 3, sample, image);
    change_colors(color_factors(options.color_jitter, 7, 3, sample), 3, image.pixels());
    std::vector<T> out(count);
    writer.write(pixels.data(), 3, sample, out.data());
    for (size_t i = 0; i < count; ++i)
      ASSERT_EQ(static_cast<float>(out[i]),
                static_cast<float>(T(static_cast<float>((image.now[i] / 255.0 - by.mean[i % 3]) /
                                                        by.stddev[i % 3]))));
  }
}

// Every step alone and all together, with an odd and an even number of passes over the image.
TEST(ImageWriter, ChangesPixelsBeforeItNormalizes) {
  AugmentConfig jittered = {2, true}, turned = jittered, drawn = jittered, all = jittered;
  jittered.color_jitter = all.color_jitter = {0.4, 0.4, 0.4};
  turned.affine = all.affine = {.rotate = 30, .translate = 0.2, .scale = 0.3, .shear = 10};
  drawn.rand_augment = all.rand_augment = {.count = 3, .magnitude = 15};
  for (const AugmentConfig& options : {jittered, turned, drawn, all}) {
    expect_written<float>(DType::f32, options);
    expect_written<bfloat16>(DType::bf16, options);
  }
}

TEST(ImageWriter, RefusesColorsWhereThereAreNone) {
  AugmentConfig options;
  options.color_jitter.saturation = 0.1;
  auto refusal = [&](int64_t channels) {
    std::vector<double> zeros(static_cast<size_t>(channels)), ones(zeros.size(), 1);
    return message_of(Category::config, [&] {
      ImageWriter({4, 4, channels}, {zeros, ones}, DType::f32, options, 1);
    });
  };
  EXPECT_THAT(refusal(1), HasSubstr("color_jitter.saturation"));
  EXPECT_THAT(refusal(2), HasSubstr("got 2"));
  options.color_jitter = {};
  options.rand_augment.count = 2;
  EXPECT_THAT(refusal(2), HasSubstr("data.augment.rand_augment: needs images of 1 or 3 channels"));
}

}  // namespace
}  // namespace spire
