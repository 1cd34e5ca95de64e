#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <spire/tensor.h>

#include "engine/data/images/augment.h"
#include "engine/data/images/pixel_changes.h"
#include "tests/data/numbered.h"
#include "tests/data/test_files.h"

namespace spire {
namespace {

// The image that record_image_ops.py changes.
Bytes image_to_change(ImageSize size, int64_t channels) {
  Bytes pixels;
  for (int64_t i = 0; i < size.height * size.width * channels; ++i)
    pixels.push_back(static_cast<uint8_t>(20 + (i * i * 7 + i * 31) % 211));
  return pixels;
}

// What Pillow makes of it, by record_image_ops.py.
const nlohmann::json& recorded() {
  static const auto images =
      nlohmann::json::parse(file_bytes(DATA_FOLDER "/images/pillow_images.json"));
  return images;
}

Bytes from_hex(std::string_view text) {
  Bytes bytes;
  for (size_t i = 0; i + 1 < text.size(); i += 2)
    bytes.push_back(static_cast<uint8_t>(std::stoi(std::string(text.substr(i, 2)), nullptr, 16)));
  return bytes;
}

int largest_difference(const Bytes& a, const Bytes& b) {
  EXPECT_EQ(a.size(), b.size());
  int largest = 0;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

Bytes changed(ImageOp op, double magnitude, bool negative, ImageSize size, int64_t channels,
              Bytes pixels) {
  Bytes other(pixels.size());
  ImageVersions image{size, channels, pixels.data(), other.data()};
  apply(op, magnitude, negative, image);
  return image.now == pixels.data() ? pixels : other;
}

// Pillow cuts blends off where Spire rounds them: one level at most. The other ops coincide.
int allowed_difference(ImageOp op) {
  const std::set<ImageOp> blends = {ImageOp::brightness, ImageOp::color, ImageOp::contrast,
                                    ImageOp::sharpness, ImageOp::autocontrast};
  return blends.contains(op) ? 1 : 0;
}

TEST(RandAugment, OpsAreThoseOfPillow) {
  std::set<ImageOp> seen;
  for (const auto& expected : recorded()["images"]) {
    auto op = static_cast<ImageOp>(expected["op"].get<int>());
    int64_t side = expected["side"], channels = expected["channels"];
    ImageSize size = {side, side + 3};
    Bytes pixels = changed(op, expected["magnitude"], expected["negative"], size, channels,
                           image_to_change(size, channels));
    EXPECT_LE(largest_difference(pixels, from_hex(expected["pixels"].get<std::string>())),
              allowed_difference(op))
        << expected["name"] << " magnitude " << expected["magnitude"] << " channels " << channels;
    seen.insert(op);
  }
  EXPECT_EQ(seen.size(), image_op_count);
}

TEST(RandAugment, BilinearWarpIsThatOfPillow) {
  AffineParts parts = {.rotate = 20,
                       .shear_x = 10,
                       .scale = 0.9,
                       .move_x = 1.5,
                       .move_y = -0.75,
                       .center_x = 6,
                       .center_y = 4.5};
  ImageSize size = {9, 12};
  for (int64_t channels : {1, 3}) {
    Bytes pixels = image_to_change(size, channels), out(pixels.size());
    warp(affine_map(parts), size, channels, Interpolation::bilinear, pixels.data(), out.data());
    Bytes expected = from_hex(recorded()["warps"][std::to_string(channels)].get<std::string>());
    EXPECT_LE(largest_difference(out, expected), 1) << channels;
  }
}

TEST(Warp, TheIdentityChangesNothing) {
  ImageSize size = {5, 7};
  for (int64_t channels : {1, 2, 3, 4})
    for (Interpolation how : {Interpolation::nearest, Interpolation::bilinear}) {
      Bytes pixels = image_to_change(size, channels), out(pixels.size());
      warp(affine_map({.center_x = 3, .center_y = 1}), size, channels, how, pixels.data(),
           out.data());
      EXPECT_EQ(out, pixels) << channels;
    }
}

TEST(Warp, WholeShiftsMovePixels) {
  Bytes pixels = {1, 2, 3, 4, 5, 6}, out(6);
  warp(affine_map({.move_x = 1, .move_y = -1}), {2, 3}, 1, Interpolation::bilinear, pixels.data(),
       out.data());
  EXPECT_EQ(out, (Bytes{0, 4, 5, 0, 0, 0}));
}

// A quarter turn clockwise moves the upper left corner to the upper right.
TEST(Warp, QuarterTurns) {
  Bytes pixels = {1, 2, 3, 4, 5, 6, 7, 8, 9}, out(9);
  warp(affine_map({.rotate = 90, .center_x = 1.5, .center_y = 1.5}), {3, 3}, 1,
       Interpolation::nearest, pixels.data(), out.data());
  EXPECT_EQ(out, (Bytes{7, 4, 1, 8, 5, 2, 9, 6, 3}));
}

TEST(Warp, PartsAreDrawnWithinTheirBounds) {
  AffineConfig config = {.rotate = 10, .translate = 0.25, .scale = 0.5, .shear = 4};
  double least = 2, most = 0;
  for (int64_t sample = 0; sample < 200; ++sample) {
    AffineParts parts = random_affine(config, {20, 40}, 5, 1, sample);
    EXPECT_LE(std::abs(parts.rotate), 10);
    EXPECT_LE(std::abs(parts.move_x), 10);
    EXPECT_LE(std::abs(parts.move_y), 5);
    EXPECT_LE(std::abs(parts.shear_x), 4);
    EXPECT_EQ(parts.shear_y, 0);
    least = std::min(least, parts.scale), most = std::max(most, parts.scale);
  }
  EXPECT_THAT(least, testing::AllOf(testing::Ge(0.5), testing::Lt(0.52)));
  EXPECT_THAT(most, testing::AllOf(testing::Le(1.5), testing::Gt(1.48)));
}

TEST(RandAugment, FlatImagesStayAsTheyAre) {
  Bytes flat(48, 77);
  for (ImageOp op : {ImageOp::equalize, ImageOp::autocontrast, ImageOp::sharpness,
                     ImageOp::contrast, ImageOp::color, ImageOp::identity})
    EXPECT_EQ(changed(op, 20, false, {4, 4}, 3, flat), flat) << static_cast<int>(op);
}

TEST(RandAugment, MagnitudeZeroChangesOnlyHistograms) {
  ImageSize size = {9, 12};
  Bytes pixels = image_to_change(size, 3);
  for (uint32_t i = 0; i < image_op_count; ++i) {
    auto op = static_cast<ImageOp>(i);
    if (op == ImageOp::autocontrast || op == ImageOp::equalize) continue;
    for (bool negative : {false, true})
      EXPECT_EQ(changed(op, 0, negative, size, 3, pixels), pixels) << i;
  }
}

TEST(RandAugment, OfImagesOfOnePixel) {
  for (uint32_t i = 0; i < image_op_count; ++i)
    EXPECT_EQ(changed(static_cast<ImageOp>(i), 30, true, {1, 1}, 1, {9}).size(), 1u) << i;
}

Bytes augmented(int64_t count, int64_t epoch, int64_t sample, uint64_t seed = 3) {
  ImageSize size = {9, 12};
  Bytes pixels = image_to_change(size, 3), other(pixels.size());
  ImageVersions image{size, 3, pixels.data(), other.data()};
  rand_augment({.count = count, .magnitude = 12}, seed, epoch, sample, image);
  return image.now == pixels.data() ? pixels : other;
}

TEST(RandAugment, IsAFunctionOfSeedEpochAndSample) {
  EXPECT_EQ(augmented(0, 1, 1), image_to_change({9, 12}, 3));
  std::set<Bytes> seen;
  for (int64_t sample = 0; sample < 40; ++sample) {
    EXPECT_EQ(augmented(2, 1, sample), augmented(2, 1, sample));
    seen.insert(augmented(2, 1, sample));
  }
  EXPECT_GT(seen.size(), 25u);
  int same = 0;
  for (int64_t sample = 0; sample < 20; ++sample)
    same += augmented(2, 1, sample) == augmented(2, 2, sample) ? 1 : 0;
  EXPECT_LT(same, 8);
}

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

TEST(Erase, RectanglesHaveTheDrawnShareAndShape) {
  EraseConfig config = {.probability = 1, .min_share = 0.1, .max_share = 0.3};
  for (int64_t sample = 0; sample < 300; ++sample) {
    Rectangle part = erased_rectangle(config, {100, 80}, 1, 0, sample);
    EXPECT_GE(part.top, 0);
    EXPECT_LE(part.top + part.height, 100);
    EXPECT_GE(part.left, 0);
    EXPECT_LE(part.left + part.width, 80);
    double share = static_cast<double>(part.height * part.width) / 8000;
    EXPECT_GT(share, 0.095);
    EXPECT_LT(share, 0.305);
    double ratio = static_cast<double>(part.height) / static_cast<double>(part.width);
    EXPECT_GT(ratio, 0.28);
    EXPECT_LT(ratio, 3.5);
  }
}

TEST(Erase, HappensWithTheProbability) {
  EraseConfig config = {.probability = 0.25, .min_share = 0.02, .max_share = 0.1};
  int erased = 0;
  for (int64_t sample = 0; sample < 4000; ++sample)
    erased += erased_rectangle(config, {32, 32}, 9, 2, sample).height > 0 ? 1 : 0;
  EXPECT_NEAR(erased, 1000, 100);
  EXPECT_EQ(erased_rectangle({}, {32, 32}, 9, 2, 0).height, 0);
}

// Nothing fits an image of one pixel, and a rectangle that is larger than the image is not taken.
TEST(Erase, GivesUpWhereNothingFits) {
  EraseConfig config = {.probability = 1, .min_share = 1, .max_share = 1};
  EXPECT_EQ(erased_rectangle(config, {1, 1}, 1, 0, 0).height, 0);
  EXPECT_EQ(erased_rectangle(config, {8, 8}, 1, 0, 0).height, 0);
}

// The rectangle is 0 after normalization, everything else is as without erasing.
TEST(Erase, BlanksTheNormalizedImage) {
  Bytes pixels = pattern(10 * 12 * 3, 251);
  AugmentConfig plain;
  plain.flip = true;
  AugmentConfig erasing = plain;
  erasing.erase = {.probability = 1, .min_share = 0.1, .max_share = 0.2};
  const Normalization by = {{0.2, 0.4, 0.9}, {0.5, 0.3, 0.1}};
  ImageWriter without({10, 12, 3}, by, DType::bf16, plain, 4);
  ImageWriter with({10, 12, 3}, by, DType::bf16, erasing, 4);
  std::vector<bfloat16> a(pixels.size()), b(pixels.size());
  for (int64_t sample = 0; sample < 20; ++sample) {
    without.write(pixels.data(), 1, sample, a.data());
    with.write(pixels.data(), 1, sample, b.data());
    Rectangle part = erased_rectangle(erasing.erase, {10, 12}, 4, 1, sample);
    ASSERT_GT(part.height, 0);
    for (int64_t i = 0; i < std::ssize(pixels); ++i) {
      int64_t y = i / 36, x = i / 3 % 12;
      bool inside = y >= part.top && y < part.top + part.height && x >= part.left &&
                    x < part.left + part.width;
      auto at = static_cast<size_t>(i);
      ASSERT_EQ(b[at].bits, inside ? 0 : a[at].bits) << i;
    }
  }
}

}  // namespace
}  // namespace spire
