#include "engine/inference/text_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <spire/error.h>

namespace spire {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// What is shown after each part, then at the end.
std::vector<std::string> shown(std::vector<std::string> stop_words,
                               const std::vector<std::string>& parts) {
  TextStream stream(std::move(stop_words));
  std::vector<std::string> all;
  for (const std::string& part : parts) all.push_back(stream.add(part));
  all.push_back(stream.finish());
  return all;
}

TEST(TextStream, ShowsEachTokenAtOnce) {
  EXPECT_THAT(shown({}, {"a", "bc", ""}), ElementsAre("a", "bc", "", ""));
}

TEST(TextStream, PartsEndBetweenCharacters) {
  EXPECT_THAT(shown({}, {"a\xc3", "\xa9", "\xf0\x9f", "\x98", "\x80!"}),
              ElementsAre("a", "\xc3\xa9", "", "", "\xf0\x9f\x98\x80!", ""));
  EXPECT_THAT(shown({}, {"x\xe2\x82"}), ElementsAre("x", "\xe2\x82"));  // the end shows the rest
}

TEST(TextStream, BytesThatAreNoCharacterArePassedOn) {
  EXPECT_THAT(shown({}, {"\x80\x80\x80\x80", "\xff", "\xc0", "\xc3", "a"}),
              ElementsAre("\x80\x80\x80\x80", "\xff", "\xc0", "", "\xc3\x61", ""));
}

TEST(TextStream, EndsBeforeTheFirstStopWord) {
  EXPECT_THAT(shown({"END", "\n\n"}, {"one E", "N", "two EN", "D of", "more"}),
              ElementsAre("one ", "", "ENtwo ", "", "", ""));
  EXPECT_THAT(shown({"b", "abc"}, {"xa", "bc"}), ElementsAre("x", "", ""));
  TextStream stream({"stop"});
  stream.add("do not sto");
  EXPECT_FALSE(stream.stopped());
  stream.add("p");
  EXPECT_TRUE(stream.stopped());
}

TEST(TextStream, ABegunStopWordIsTextIfItEndsOtherwise) {
  EXPECT_THAT(shown({"aab"}, {"a", "a", "a", "c"}), ElementsAre("", "", "a", "aac", ""));
  EXPECT_THAT(shown({"stop"}, {"st"}), ElementsAre("", "st"));
  EXPECT_THAT(shown({"\xa9!"}, {"\xc3\xa9", "?"}), ElementsAre("", "\xc3\xa9?", ""));
}

TEST(TextStream, RefusesAnEmptyStopWord) {
  try {
    TextStream({"a", ""});
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("a stop word is empty"));
  }
}

}  // namespace
}  // namespace spire
