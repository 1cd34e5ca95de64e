#include "kernels/cuda/tuning.h"

#include <gmock/gmock.h>
#include <tests/base/message_of.h>
#include <tests/kernels/cuda/fake_engines.h>

#include "engine/base/hash.h"

namespace spire {
namespace {

using ::testing::HasSubstr;
using testing::one_choice;

TuningChoices some() {
  TuningChoices choices;
  choices.set("NVIDIA H100, cuDNN 9.19.0, convolution b", "engine 67 2=1 13=0");
  choices.set("NVIDIA H100, cuDNN 9.19.0, convolution a", "engine 0");
  return choices;
}

std::string problem_of(const std::string& text) {
  return message_if_any(Category::checkpoint,
                        [&] { TuningChoices::from_text(text, Category::checkpoint); });
}

TEST(TuningChoices, TheLastChoiceForAKeyIsFound) {
  TuningChoices choices = some();
  choices.set("NVIDIA H100, cuDNN 9.19.0, convolution a", "engine 3");
  EXPECT_EQ(*choices.find("NVIDIA H100, cuDNN 9.19.0, convolution a"), "engine 3");
  EXPECT_EQ(choices.size(), 2u);
  EXPECT_EQ(choices.find("NVIDIA H100, cuDNN 9.19.0, convolution"), nullptr);
}

TEST(TuningChoices, AddMissingKeepsExistingChoices) {
  TuningChoices choices, others;
  choices.set("a", "mine");
  others.set("a", "theirs");
  others.set("b", "theirs");
  choices.add_missing(others);
  EXPECT_EQ(*choices.find("a"), "mine");
  EXPECT_EQ(*choices.find("b"), "theirs");
}

TEST(TuningChoices, TextIsReadBackUnchanged) {
  for (const TuningChoices& choices : {TuningChoices(), some()})
    EXPECT_EQ(TuningChoices::from_text(choices.to_text(), Category::config), choices);
}

TEST(TuningChoices, TextHasALineForEachChoiceSortedByKey) {
  std::string text = some().to_text();
  EXPECT_EQ(text.substr(text.find('\n') + 1),
            "NVIDIA H100, cuDNN 9.19.0, convolution a\tengine 0\n"
            "NVIDIA H100, cuDNN 9.19.0, convolution b\tengine 67 2=1 13=0\n");
}

TEST(TuningChoices, ForeignTextIsRefused) {
  for (const char* text :
       {"", "spire", "spire tuning 1 ", "spire tuning 2 0123456789abcdef\n", "{}"})
    EXPECT_THAT(problem_of(text), HasSubstr("does not begin with 'spire tuning 1 '")) << text;
}

TEST(TuningChoices, TextThatIsCutShortOrHasAChangedByteIsRefused) {
  std::string text = some().to_text();
  for (size_t length = 0; length < text.size(); ++length)
    EXPECT_NE(problem_of(text.substr(0, length)), "") << length;
  for (size_t at = 0; at < text.size(); ++at) {
    std::string damaged = text;
    damaged[at] ^= 1;
    EXPECT_NE(problem_of(damaged), "") << at;
  }
}

// The checksum fits, so the lines themselves are looked at.
TEST(TuningChoices, LinesThatAreNoChoicesAreRefused) {
  for (const std::string lines : {"no tab\n", "\tengine 0\n", "key\t\n", "a\tb\tc\n", "a\tb"}) {
    std::string text = "spire tuning 1 " + hex(hash64(lines.data(), lines.size())) + "\n" + lines;
    EXPECT_THAT(problem_of(text), HasSubstr("is not a key, a tab and a choice")) << lines;
  }
}

TEST(TuningChoices, KeysAndChoicesOfSeveralLinesAreRefused) {
  TuningChoices choices;
  EXPECT_THROW(choices.set("", "engine 0"), Error);
  EXPECT_THROW(choices.set("a", ""), Error);
  EXPECT_THROW(choices.set("a\tb", "engine 0"), Error);
  EXPECT_THROW(choices.set("a", "engine\n0"), Error);
  EXPECT_TRUE(choices.empty());
}

TEST(Tuning, AdoptsAnotherProcessesChoices) {
  Tuning tuning({.recorded = one_choice("k", "mine")});
  TuningChoices theirs = one_choice("k", "theirs");
  theirs.set("l", "theirs");
  tuning.adopt(theirs);
  EXPECT_EQ(tuning.find("k"), "theirs");
  EXPECT_EQ(tuning.find("l"), "theirs");
  EXPECT_EQ(tuning.find("m"), std::nullopt);
}

}  // namespace
}  // namespace spire
