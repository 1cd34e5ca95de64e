// Runs on images with targets of their own: hashes, resumption, evaluation and predictions.
#include <cmath>
#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/data/images/png.h"
#include "tests/run/program/run_folder.h"

namespace spire {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr int64_t side = 12;

// An image (12, 12) with a bright box on it, whose place depends on `number`; and its mask: 1 in
// the box, 0 elsewhere, and no class in the lowest row.
PngImage box_image(int64_t number) {
  PngImage image{side, side, 1, {}};
  for (int64_t i = 0; i < side * side; ++i) {
    int64_t y = i / side - number % 5, x = i % side - number % 7;
    bool inside = y >= 0 && y < 6 && x >= 0 && x < 5;
    image.pixels.push_back(static_cast<uint8_t>(inside ? 180 + number % 60 : i * number % 90));
  }
  return image;
}
PngImage box_mask(int64_t number) {
  PngImage mask = box_image(number);
  for (uint8_t& pixel : mask.pixels) pixel = pixel >= 180 ? 1 : 0;
  std::fill(mask.pixels.end() - side, mask.pixels.end(), uint8_t{255});
  return mask;
}
PngImage negative(PngImage image) {
  for (uint8_t& pixel : image.pixels) pixel = static_cast<uint8_t>(255 - pixel);
  return image;
}

// PSNR of the constant that fits all targets of the validation data best: 10 log10(1 / variance).
double psnr_of_constant() {
  double count = 0, sum = 0, squares = 0;
  for (int64_t i = 0; i < 50; ++i)
    for (uint8_t pixel : negative(box_image(i)).pixels) {
      double value = pixel / 255.0;
      count += 1, sum += value, squares += value * value;
    }
  return 10 * std::log10(1 / (squares / count - sum * sum / (count * count)));
}

class ImageTargetRuns : public testing::TestWithParam<bool> {  // whether the targets are masks
 protected:
  ImageTargetRuns() {
    for (auto [part, count] : {std::pair{"train", 300}, {"val", 50}})
      for (int64_t i = 0; i < count; ++i) {
        fs::path at = folder_ / "pairs" / part;
        for (const char* half : {"input", "target"}) fs::create_directories(at / half);
        std::string name = fmt::format("{:03}.png", i);
        write_png(at / "input" / name, box_image(i));
        write_png(at / "target" / name, GetParam() ? box_mask(i) : negative(box_image(i)));
      }
  }

  Words pairs(const Words& more) const {
    Words words = {"data.name=image_pairs",
                   "data.path=" + (folder_ / "pairs").string(),
                   "model.channels=[4,8]",
                   "model.normalization=batch_norm",
                   "data.augment.crop=2",
                   "data.augment.flip=true",
                   "optimizer.name=adam",
                   "optimizer.lr=0.01",
                   GetParam() ? "data.pairs.target=mask" : "data.pairs.target=image"};
    return words + more;
  }
  Words run(const std::string& name, const Words& more) const {
    return folder_.run(name, pairs(more));
  }

  RunFolder folder_;
};

TEST_P(ImageTargetRuns, OneHashOnAnyDevicesByAnyStrategy) {
  expect_one_hash(folder_, pairs({"steps=12"}), 7);
}

TEST_P(ImageTargetRuns, LearnsAndPredicts) {
  Output trained = trainer(run("run", {"epochs=12", "eval.samples=4"}));
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_THAT(trained.err + trained.out,
              HasSubstr(GetParam() ? "find the class of each pixel" : "make the target images"));
  auto val = folder_.summary("run")["val"];
  double reached = val[GetParam() ? "accuracy" : "psnr"].get<double>();
  // The model leaves less than an eighth of the variance.
  EXPECT_GT(reached, GetParam() ? 0.95 : psnr_of_constant() + 10 * std::log10(8));
  EXPECT_FALSE(fs::is_empty(folder_ / "run/samples"));

  std::string to = (folder_ / "made").string();
  Output predicted = trainer({"predict", "--checkpoint", (folder_ / "run").string(), "--to", to,
                              (folder_ / "pairs/val/input/001.png").string()});
  ASSERT_EQ(predicted.code, 0) << predicted.err;
  EXPECT_TRUE(fs::exists(folder_ / "made/001.png"));
  EXPECT_TRUE(fs::exists(folder_ / "made/001_result.png"));
}

// The columns of a file say that its targets are images, whose pixels are from 0 to 1.
TEST_P(ImageTargetRuns, AnyModelOfImagesLearnsThemFromAFile) {
  std::string file = (folder_ / "pairs.h5").string();
  Output converted = trainer(Words{"dataset", "convert", "--to", file} + run("none", {}));
  ASSERT_EQ(converted.code, 0) << converted.err;
  std::string channels = GetParam() ? "2" : "3";
  Output trained = trainer(folder_.run(
      "layers", {"data.name=hdf5", "data.path=" + file, "steps=2",
                 "model.layers=[conv2d: {channels: 4, kernel: 3, padding: same}, relu, conv2d: "
                 "{channels: " +
                     channels + ", kernel: 1}]"}));
  ASSERT_EQ(trained.code, 0) << trained.err;
}

std::string name_of(const testing::TestParamInfo<bool>& masks) {
  return masks.param ? "Masks" : "Images";
}

INSTANTIATE_TEST_SUITE_P(Targets, ImageTargetRuns, testing::Bool(), name_of);

}  // namespace
}  // namespace spire
