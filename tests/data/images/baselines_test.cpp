// How well simple filters restore degraded images of Fashion-MNIST: the figures that
// configs/fashion_mnist_upscale.yaml and fashion_mnist_denoise.yaml compare their models with.
#include <algorithm>
#include <cmath>
#include <functional>

#include <gtest/gtest.h>

#include "engine/data/input_file.h"
#include "engine/data/loader.h"
#include "engine/observe/image_similarity.h"
#include "tests/base/message_of.h"

namespace spire {
namespace {

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
  Image input(pixel_count), target(pixel_count);
  int32_t label = 0;
  std::vector<std::byte*> columns = {reinterpret_cast<std::byte*>(input.data()),
                                     reinterpret_cast<std::byte*>(target.data()),
                                     reinterpret_cast<std::byte*>(&label)};
  double squares = 0, similarity = 0;
  for (int64_t sample = 0; sample < data.test->count(); ++sample) {
    data.test->read({&sample, 1}, 0, columns);
    Image restored = filter(input);
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
