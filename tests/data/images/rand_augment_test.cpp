#include "engine/data/images/rand_augment.h"

#include <cmath>
#include <set>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/data/images/colors.h"
#include "engine/data/images/warp.h"
#include "tests/data/images/pillow_images.h"
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
  for (const PillowImage& expected : pillow_images) {
    ImageSize size = {expected.side, expected.side + 3};
    Bytes pixels = changed(expected.op, expected.magnitude, expected.negative, size,
                           expected.channels, image_to_change(size, expected.channels));
    EXPECT_LE(largest_difference(pixels, from_hex(expected.pixels)),
              allowed_difference(expected.op))
        << "op " << static_cast<int>(expected.op) << " magnitude " << expected.magnitude
        << " channels " << expected.channels;
    seen.insert(expected.op);
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
    Bytes expected = from_hex(channels == 1 ? pillow_warp_1 : pillow_warp_3);
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

}  // namespace
}  // namespace spire
