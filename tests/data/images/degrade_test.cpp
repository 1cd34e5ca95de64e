#include "engine/data/images/degrade.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/data/input_file.h"
#include "engine/data/loader.h"
#include "engine/observe/scores.h"
#include "tests/base/message_of.h"
#include "tests/data/numbered.h"

namespace spire {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::FloatEq;
using testing::HasSubstr;
using Upscale = DegradeConfig::Upscale;

Pixels small_of(const Pixels& image) {
  Pixels small;
  shrink(image, 2, small);
  return small;
}

// An image of twice the resolution.
Pixels large_of(const Pixels& small, int64_t height, int64_t width, Upscale by) {
  std::vector<float> wide;
  Pixels image;
  Enlarger(2, height, width, by).run(small, wide, image);
  return image;
}

Pixels ramp(int64_t height, int64_t width) {
  Pixels image{height, width, 1, std::vector<float>(static_cast<size_t>(height * width))};
  for (size_t i = 0; i < image.values.size(); ++i)
    image.values[i] = static_cast<float>(i % static_cast<size_t>(width)) / 16;
  return image;
}

TEST(Degrade, SmallPixelsAreMeansOfSquares) {
  Pixels image{3, 4, 1, {0, 0.5f, 1, 1, 0.5f, 1, 0, 0, 0.25f, 0.75f, 0.5f, 1}};
  Pixels small = small_of(image);
  EXPECT_EQ(small.height, 2);
  EXPECT_EQ(small.width, 2);
  EXPECT_THAT(small.values, ElementsAre(0.5f, 0.5f, 0.5f, 0.75f));  // the last row has one line
}

TEST(Degrade, NearestRepeatsPixels) {
  Pixels small{1, 2, 2, {0.25f, 0.5f, 0.75f, 1}};
  EXPECT_THAT(large_of(small, 2, 3, Upscale::nearest).values,
              ElementsAre(0.25f, 0.5f, 0.25f, 0.5f, 0.75f, 1, 0.25f, 0.5f, 0.25f, 0.5f, 0.75f, 1));
}

// Pixels of the larger image lie a quarter of a small pixel beside those of the small one, where
// Keys's weights of a = -1/2 are these.
TEST(Degrade, BicubicHasTheWeightsOfKeys) {
  Pixels point{1, 7, 1, {0, 0, 0, 1, 0, 0, 0}};
  Pixels large = large_of(point, 2, 14, Upscale::bicubic);
  std::vector<float> row(large.values.begin() + 3, large.values.begin() + 11);
  // Weights below 0 are clamped.
  EXPECT_THAT(row, ElementsAre(0, 0, FloatEq(0.2265625f), FloatEq(0.8671875f), FloatEq(0.8671875f),
                               FloatEq(0.2265625f), 0, 0));
  Pixels below{1, 7, 1, {1, 1, 1, 0, 1, 1, 1}};
  EXPECT_THAT(large_of(below, 2, 14, Upscale::bicubic).values[6], FloatEq(1 - 0.8671875f));
}

TEST(Degrade, BicubicKeepsRampsAwayFromTheEdges) {
  Pixels image = ramp(6, 16), again = large_of(small_of(image), 6, 16, Upscale::bicubic);
  for (size_t x = 4; x < 12; ++x) EXPECT_NEAR(again.values[x], image.values[x], 1e-6) << x;
}

TEST(Degrade, NoiseHasItsDeviationAndIsKeyed) {
  auto noisy = [](uint64_t seed, int64_t epoch, int64_t sample) {
    std::vector<float> values(10000, 0.5f);
    std::vector<float> noise(values.size());
    add_noise(0.1, seed, epoch, sample, noise, values);
    return values;
  };
  std::vector<float> values = noisy(1, 2, 3);
  double sum = 0, squares = 0;
  for (float value : values) {
    sum += double{value} - 0.5;
    squares += (double{value} - 0.5) * (double{value} - 0.5);
  }
  EXPECT_NEAR(sum / 1e4, 0, 0.005);  // five standard errors
  EXPECT_NEAR(std::sqrt(squares / 1e4), 0.1, 0.004);
  EXPECT_EQ(noisy(1, 2, 3), values);
  EXPECT_NE(noisy(2, 2, 3), values);
  EXPECT_NE(noisy(1, 3, 3), values);
  EXPECT_NE(noisy(1, 2, 4), values);
  std::vector<float> bright(100, 1.0f), noise(100);
  add_noise(1, 1, 1, 1, noise, bright);
  EXPECT_THAT(bright, Each(testing::AllOf(testing::Ge(0), testing::Le(1))));
}

DatasetPair images(const AugmentConfig& augment = {}) {
  Normalization unit = {{0}, {1}};
  return {std::make_unique<ImageDataset>(numbered(5, 8), unit, augment, ReadOptions{}),
          std::make_unique<ImageDataset>(numbered(3, 8), unit, AugmentConfig{}, ReadOptions{})};
}

TEST(Degrade, TheImageBecomesTheTargetAndTheRestStays) {
  AugmentConfig augment{.crop = 2, .flip = true};
  DatasetPair plain = images(augment);
  DatasetPair pair = degraded(images(augment), {.kind = DegradeConfig::Kind::downscale}, 1);
  EXPECT_THAT(pair.train->spec().columns,
              ElementsAre(Column{"images", {8, 8, 1}, DType::f32},
                          Column{"target_images", {8, 8, 1}, DType::f32},
                          Column{"labels", {}, DType::i32}));
  EXPECT_EQ(pair.train->count(), 5);
  EXPECT_EQ(pair.test->count(), 3);
  Pixels image{8, 8, 1, read_column<float>(*plain.train, 0, {4}, 1)};
  EXPECT_EQ(read_column<float>(*pair.train, 1, {4}, 1), image.values);
  EXPECT_EQ(read_column<int32_t>(*pair.train, 2, {4}), read_column<int32_t>(*plain.train, 1, {4}));
  EXPECT_EQ(read_column<float>(*pair.train, 0, {4}, 1),
            large_of(small_of(image), 8, 8, Upscale::bicubic).values);
}

// The model reads standardized pixels, but noise is that of pixels from 0 to 1.
TEST(Degrade, NormalizedImagesAreDegradedAsPixels) {
  auto pair_of = [](const Normalization& by) {
    DatasetPair pair{
        std::make_unique<ImageDataset>(numbered(2, 8), by, AugmentConfig{}, ReadOptions{}),
        std::make_unique<ImageDataset>(numbered(2, 8), by, AugmentConfig{}, ReadOptions{})};
    return degraded(std::move(pair), {.kind = DegradeConfig::Kind::noise}, 1);
  };
  auto pixels = read_column<float>(*pair_of({{0}, {1}}).train, 0, {1});
  auto values = read_column<float>(*pair_of({{0.5}, {0.25}}).train, 0, {1});
  for (size_t i = 0; i < 64; ++i) EXPECT_NEAR(values[i], (pixels[i] - 0.5f) / 0.25f, 1e-5);
}

TEST(Degrade, DataWithoutImagesOrWithTargetsIsRefused) {
  DegradeConfig noise{.kind = DegradeConfig::Kind::noise};
  EXPECT_THAT(
      message_of(Category::config, [&] { degraded(degraded(images(), noise, 1), noise, 1); }),
      HasSubstr("data.degrade: the data has a target for each image already"));
  DataConfig config;
  config.name = "synthetic";
  config.synthetic = {
      .kind = SyntheticConfig::Kind::features, .shape = {4}, .samples = 4, .test_samples = 4};
  config.degrade = noise;
  EXPECT_THAT(open_refusal(config, Category::config),
              HasSubstr("data.degrade: needs images, but the data has features"));
}

TEST(Degrade, ImagesNeedNotBeStandardized) {
  DataConfig config;
  config.name = "synthetic";
  config.synthetic = {
      .kind = SyntheticConfig::Kind::images, .shape = {4, 4, 1}, .samples = 4, .test_samples = 4};
  config.degrade.kind = DegradeConfig::Kind::noise;
  DatasetPair data = open_dataset(config, {});
  auto degraded_values = read_column<float>(*data.train, 0, {0});
  EXPECT_THAT(degraded_values, Each(testing::AllOf(testing::Ge(0), testing::Le(1))));
  EXPECT_NE(degraded_values, read_column<float>(*data.train, 1, {0}));
}

// How well simple filters restore degraded images of Fashion-MNIST: the figures that
// configs/fashion_mnist_upscale.yaml and fashion_mnist_denoise.yaml compare their models with.

constexpr int64_t test_side = 28;
constexpr size_t pixel_count = test_side * test_side;
using Image = std::vector<float>;

struct Quality {
  double psnr = 0, ssim = 0;
};

// Applies a filter to the degraded test images and compares with what they were.
Quality quality(const DegradeConfig& degrade, const std::function<Image(const Image&)>& filter) {
  DataConfig config;
  config.normalize = DataConfig::Normalize::unit;
  config.degrade = degrade;
  DatasetPair data = open_dataset(config, {.dtype = DType::f32, .seed = 7});
  double squares = 0, similarity = 0;
  for (int64_t sample = 0; sample < data.test->count(); ++sample) {
    Image target = read_column<float>(*data.test, 1, {sample});
    Image restored = filter(read_column<float>(*data.test, 0, {sample}));
    double error = 0;
    for (size_t i = 0; i < pixel_count; ++i)
      error += std::pow(double{restored[i]} - double{target[i]}, 2);
    squares += error / pixel_count;
    similarity += ssim(restored, target, test_side, test_side, 1);
  }
  auto count = static_cast<double>(data.test->count());
  return {-10 * std::log10(squares / count), similarity / count};
}

Image unchanged(const Image& image) {
  return image;
}

// Median of the 3 x 3 pixels around each; at the edges the nearest pixels count again.
Image median(const Image& image) {
  Image result(pixel_count);
  for (int64_t y = 0; y < test_side; ++y)
    for (int64_t x = 0; x < test_side; ++x) {
      std::array<float, 9> near{};
      for (int64_t i = 0; i < 9; ++i) {
        int64_t row = std::clamp<int64_t>(y + i / 3 - 1, 0, test_side - 1);
        int64_t column = std::clamp<int64_t>(x + i % 3 - 1, 0, test_side - 1);
        near[static_cast<size_t>(i)] = image[static_cast<size_t>(row * test_side + column)];
      }
      std::nth_element(near.begin(), near.begin() + 4, near.end());
      result[static_cast<size_t>(y * test_side + x)] = near[4];
    }
  return result;
}

class Baselines : public testing::Test {
 protected:
  void SetUp() override {
    try {
      find_dataset_folder(standard_dataset_folders("fashion-mnist"), "train-images-idx3-ubyte", "");
    } catch (const Error&) {
      GTEST_SKIP() << "Fashion-MNIST is not installed";
    }
  }
};

TEST_F(Baselines, UpscalingOfFashionMnist) {
  using Upscale = DegradeConfig::Upscale;
  DegradeConfig degrade{.kind = DegradeConfig::Kind::downscale};
  Quality bicubic = quality(degrade, unchanged);
  degrade.upscale = Upscale::nearest;
  Quality nearest = quality(degrade, unchanged);
  EXPECT_NEAR(bicubic.psnr, 18.96, 0.01);
  EXPECT_NEAR(bicubic.ssim, 0.7286, 0.0001);
  EXPECT_NEAR(nearest.psnr, 18.04, 0.01);
  EXPECT_NEAR(nearest.ssim, 0.7235, 0.0001);
}

TEST_F(Baselines, DenoisingOfFashionMnist) {
  DegradeConfig degrade{.kind = DegradeConfig::Kind::noise, .noise = 0.1};
  Quality noisy = quality(degrade, unchanged), filtered = quality(degrade, median);
  EXPECT_NEAR(noisy.psnr, 21.59, 0.01);
  EXPECT_NEAR(noisy.ssim, 0.7203, 0.0001);
  EXPECT_NEAR(filtered.psnr, 19.83, 0.01);
  EXPECT_NEAR(filtered.ssim, 0.6640, 0.0001);
}

}  // namespace
}  // namespace spire
