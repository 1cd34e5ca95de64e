#include "engine/base/text.h"

#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace spire {
namespace {

TEST(MessageWords, PluralsFollowTheNumber) {
  EXPECT_EQ(counted(1, "bad sample"), "1 bad sample");
  EXPECT_EQ(counted(0, "bad sample"), "0 bad samples");
  EXPECT_EQ(counted(2, "process"), "2 processes");
  EXPECT_EQ(counted(3, "class"), "3 classes");
  EXPECT_EQ(counted(4, "batch"), "4 batches");
  EXPECT_EQ(counted(4, "epoch"), "4 epochs");
  EXPECT_EQ(counted(5, "entry"), "5 entries");
  EXPECT_EQ(counted(6, "key"), "6 keys");
  EXPECT_EQ(counted(1, "process"), "1 process");
}

TEST(MessageWords, NanHasNoSign) {
  double negative = std::copysign(std::numeric_limits<double>::quiet_NaN(), -1.0);
  EXPECT_EQ(fmt::format("{:.4f}", unsigned_nan(negative)), "nan");
  EXPECT_EQ(unsigned_nan(-2.5), -2.5);
  EXPECT_EQ(unsigned_nan(-std::numeric_limits<double>::infinity()),
            -std::numeric_limits<double>::infinity());
}

TEST(MessageWords, SuggestsAWordNearTheMistypedOne) {
  const std::vector<std::string> words = {"batch_size", "towers", "crop",   "flip", "mixup",
                                          "momentum",   "adam",   "resnet", "l1",   "mirrored"};
  auto meant = [&](std::string_view word) { return nearest(word, words); };
  EXPECT_EQ(meant("batchsize"), "batch_size");
  EXPECT_EQ(meant("BATCH-SIZE"), "batch_size");
  EXPECT_EQ(meant("tower"), "towers");
  EXPECT_EQ(meant("corp"), "crop");
  EXPECT_EQ(meant("resnte"), "resnet");
  EXPECT_EQ(meant("momentun"), "momentum");
  EXPECT_EQ(meant("L1"), "l1");
  EXPECT_EQ(meant("mirror"), "mirrored");
}

TEST(MessageWords, AWordFarFromAllHasNoSuggestion) {
  const std::vector<std::string> words = {"crop", "flip", "mixup", "cutmix", "adam",
                                          "sgd",  "mse",  "l1",    "fp32",   "bf16"};
  for (const char* word : {"rotate", "zzzzzz", "rmsprop", "hinge", "fp8", "int8", "", "shear"})
    EXPECT_EQ(nearest(word, words), "") << word;
}

TEST(MessageWords, SuggestsTheClosestOfSeveral) {
  EXPECT_EQ(nearest("steps", {"step", "steps", "stops"}), "steps");
  EXPECT_EQ(nearest("adamv", {"adam", "adamw"}), "adam");
}

TEST(MessageWords, PrintableTextSteersNoTerminal) {
  EXPECT_EQ(printable("a\x1b[2J\n\x7f"), "a\\x1b[2J\\x0a\\x7f");
  EXPECT_EQ(printable("\xc2\x9b"
                      "2J"),
            "\\xc2\\x9b2J");  // U+009B, another form of ESC [
  EXPECT_EQ(printable("\xc3\xbc \xc2\xa0 \xc2"), "\xc3\xbc \xc2\xa0 \xc2");
}

TEST(MessageWords, ASuggestionEndsAMessage) {
  EXPECT_EQ(did_you_mean("adam"), "; did you mean 'adam'?");
  EXPECT_EQ(did_you_mean(""), "");
}

}  // namespace
}  // namespace spire
