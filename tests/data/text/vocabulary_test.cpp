#include "engine/data/text/vocabulary.h"

#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/data/test_files.h"

namespace spire {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(Utf8, EveryCodePointThereAndBack) {
  for (char32_t code = 0; code <= 0x110000; ++code) {
    std::string text;
    append_utf8(text, code);
    size_t at = 0;
    if ((code >= 0xd800 && code <= 0xdfff) || code > 0x10ffff) {
      ASSERT_EQ(next_code(text, at), std::nullopt);
      ASSERT_EQ(at, 0u);
    } else {
      ASSERT_EQ(next_code(text, at), code);
      ASSERT_EQ(at, text.size());
    }
  }
}

// From the examples of RFC 3629 and of Unicode's table 3-7.
TEST(Utf8, IllFormedBytes) {
  for (const char* bytes :
       {"\x80", "\xbf", "\xc0\x80", "\xc1\xbf", "\xe0\x9f\xbf", "\xf0\x8f\xbf\xbf", "\xed\xa0\x80",
        "\xed\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff", "\xc3", "\xe2\x82",
        "\xf0\x9f\x98", "\xc3(", "\xe2(\xa1"}) {
    EXPECT_EQ(invalid_utf8(std::string("ok") + bytes), 2u) << bytes;
  }
  EXPECT_EQ(invalid_utf8("\xe2\x82\xac\xf0\x9f\x98\x80 z"), std::nullopt);
  EXPECT_EQ(invalid_utf8(""), std::nullopt);
}

std::string all_bytes() {
  std::string text;
  for (int byte = 0; byte < 256; ++byte) text += static_cast<char>(byte);
  return text;
}

TEST(ByteVocabulary, EncodesAnyText) {
  auto bytes = byte_vocabulary();
  EXPECT_EQ(bytes->size(), 256);
  EXPECT_EQ(bytes->name(), "bytes");
  EXPECT_THAT(bytes->encode("A\xff"), ElementsAre(65, 255));
  EXPECT_EQ(bytes->decode(bytes->encode(all_bytes())), all_bytes());
  EXPECT_EQ(make_vocabulary(bytes->to_text())->name(), "bytes");
  EXPECT_THAT(message_of(Category::data,
                         [&] {
                           bytes->decode(std::vector{65, 256});
                         }),
              HasSubstr("token 256"));
  EXPECT_THAT(message_of(Category::data, [&] { bytes->decode(std::vector{-1}); }),
              HasSubstr("token -1"));
}

TEST(CharacterVocabulary, CountsCodePointsInTheirOrder) {
  auto characters = character_vocabulary(
      "b\n\xc3\xa9"
      "ab\"\\\xf0\x9f\x98\x80");
  EXPECT_EQ(characters->size(), 7);  // \n " \ a b e-acute, smiley
  EXPECT_THAT(characters->encode("a\xf0\x9f\x98\x80\n\xc3\xa9"), ElementsAre(3, 6, 0, 5));
  EXPECT_EQ(characters->decode(std::vector{5, 4, 1, 2}),
            "\xc3\xa9"
            "b\"\\");
}

TEST(CharacterVocabulary, ItsTextMakesItAgain) {
  std::string text = std::string("a\0b\x7f\xc2\x85", 6) + "\xe2\x80\xa8\"\\";
  auto characters = character_vocabulary(text);
  auto again = make_vocabulary(characters->to_text());
  EXPECT_EQ(again->name(), "characters");
  EXPECT_EQ(again->to_text(), characters->to_text());
  EXPECT_EQ(again->encode(text), characters->encode(text));
  EXPECT_EQ(again->decode(again->encode(text)), text);
}

TEST(CharacterVocabulary, NamesTheCharacterThatItLacks) {
  auto characters = character_vocabulary("abc");
  EXPECT_THAT(message_of(Category::data, [&] { characters->encode("ab\xc3\xa9"); }),
              AllOf(HasSubstr("byte 2"), HasSubstr("U+00E9")));
  EXPECT_THAT(message_of(Category::data, [&] { characters->encode("abc\xff"); }),
              AllOf(HasSubstr("byte 3"), HasSubstr("is not UTF-8")));
  EXPECT_THAT(message_of(Category::data, [&] { characters->decode(std::vector{3}); }),
              HasSubstr("token 3 is not in the vocabulary, which has 0 to 2"));
  EXPECT_THAT(message_of(Category::data, [] { character_vocabulary(""); }), HasSubstr("empty"));
  EXPECT_THAT(message_of(Category::data, [] { character_vocabulary("a\xc3"); }),
              HasSubstr("byte 1: is not UTF-8"));
}

TEST(MakeVocabulary, RefusesDamagedTexts) {
  for (const char* text : {"", "byte", "characters", "characters:", "characters:abc",
                           "characters:\"\"", "characters:\"ba\"", "characters:\"aa\"",
                           "characters:[\"a\"]", "characters:\"a", "characters:\"\xff\"", "Bytes"})
    EXPECT_THAT(message_of(Category::data, [&] { make_vocabulary(text); }),
                HasSubstr("vocabulary: damaged"))
        << text;
}

}  // namespace
}  // namespace spire
