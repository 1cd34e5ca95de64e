// Checks the layers that `trainer plan` prints.
#include <gtest/gtest.h>

#include <spire/train.h>

namespace spire {
namespace {

TEST(PlanText, StatesCountsOfASampleAndBytesOfATower) {
  PlanReport report;
  report.start.batch_size = 4;
  report.start.towers = 1;
  report.layers = {{"conv1", "conv2d", {4, 28, 28, 32}, "f32", 320, 4 * 225792, 401408},
                   {"relu", "relu", {4, 28, 28, 32}, "f32", 0, 0, 401408},
                   {"head", "dense", {4, 10}, "f32", 250890, 4 * 250880, 160}};
  std::string text = to_text(report);
  std::string want =
      "layer  op      output           parameters  multiply-adds a sample  activations\n"
      "conv1  conv2d  (4, 28, 28, 32)  320         225 792                 392.0 KiB\n"
      "relu   relu    (4, 28, 28, 32)                                      392.0 KiB\n"
      "head   dense   (4, 10)          250 890     250 880                 160 B\n"
      "total                           251 210     476 672                 784.2 KiB\n"
      "FLOPs of a sample, forward: 953 344 = 2 x multiply-adds\n\n";
  EXPECT_EQ(text.substr(0, want.size()), want);
  EXPECT_NE(text.find("global batch"), std::string::npos);
}

TEST(PlanText, IsTheStartBlockAloneWithoutLayers) {
  PlanReport report;
  report.start.batch_size = report.start.towers = 1;
  EXPECT_EQ(to_text(report).find("multiply-adds"), std::string::npos);
}

}  // namespace
}  // namespace spire
