#include "engine/data/text/text_tokens.h"

#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include "engine/config/words.h"
#include "engine/data/text/vocabulary.h"
#include "tests/data/test_files.h"
#include "tests/data/text/bpe_files.h"

namespace spire {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class TextTest : public testing::Test {
 protected:
  std::string add(const std::string& name, const std::string& text) {
    write_text(folder_ / name, text);
    config_.tokens.text.push_back((folder_ / name).string());
    return config_.tokens.text.back();
  }
  void SetUp() override { config_.tokens.length = 2; }

  Folder folder_;
  DataConfig config_ = data_at("tokens", "auto");
};

TEST_F(TextTest, ItsLastPartIsTestData) {
  add("text", "abcdefghijklmnopqrst");
  config_.tokens.val_share = 0.25;
  DatasetPair pair = open_dataset(config_, {});
  EXPECT_EQ(pair.train->spec().vocabulary, "bytes");
  EXPECT_EQ(pair.train->spec().classes, 256);
  EXPECT_EQ(pair.train->count(), 6);  // of 15 tokens, wherever the epoch begins
  EXPECT_EQ(pair.test->count(), 2);
  EXPECT_THAT(read_column<int32_t>(*pair.test, 0, {0, 1}), ElementsAre('p', 'q', 'r', 's'));
  EXPECT_THAT(read_column<int32_t>(*pair.test, 1, {0, 1}), ElementsAre('q', 'r', 's', 't'));
}

TEST_F(TextTest, FilesAreJoinedAndMayBeGzip) {
  add("one", "ab");
  write_file(folder_ / "two.gz", gzip({'c', 'd'}));
  config_.tokens.text.push_back((folder_ / "two.gz").string());
  EXPECT_THAT(read_text_tokens(config_.tokens).ids, ElementsAre('a', 'b', 'c', 'd'));
}

TEST_F(TextTest, TheVocabularyHasAllCharactersOfTheText) {
  add("text", "banana\n\xc3\xa4pfel z");
  config_.tokens.vocabulary = TokensConfig::Vocabulary::characters;
  config_.tokens.val_share = 0.3;
  DatasetPair pair = open_dataset(config_, {});
  EXPECT_EQ(pair.train->spec().classes, 11);
  auto vocabulary = make_vocabulary(pair.train->spec().vocabulary);
  EXPECT_EQ(vocabulary->decode(read_text_tokens(config_.tokens).ids), "banana\n\xc3\xa4pfel z");
}

TEST_F(TextTest, Gpt2SeparatesFilesByEndOfText) {
  write_bpe(folder_.path() / "gpt2", "a b\n", {"ab", "<|endoftext|>"});
  add("one", "ab");
  add("two", "b");
  config_.tokens.vocabulary = TokensConfig::Vocabulary::gpt2;
  config_.tokens.bpe_path = (folder_ / "gpt2").string();
  TextTokens tokens = read_text_tokens(config_.tokens);
  EXPECT_THAT(tokens.ids, ElementsAre(256, 257, 'b'));
  EXPECT_EQ(tokens.vocabulary->to_text(), "gpt2:" + (folder_ / "gpt2").string());
  ASSERT_EQ(setenv("SPIRE_DATA", folder_.path().c_str(), 1), 0);
  EXPECT_EQ(find_bpe("auto"), folder_ / "gpt2");
  ASSERT_EQ(setenv("SPIRE_DATA", (folder_ / "none").c_str(), 1), 0);
  EXPECT_THAT(message_of(Category::data, [] { find_bpe("auto"); }),
              HasAll((folder_ / "none" / "gpt2").string(), "bpe_path"));
  ASSERT_EQ(unsetenv("SPIRE_DATA"), 0);
}

TEST_F(TextTest, InvalidUtf8IsNamedByFileAndByte) {
  add("good", "abcdefg");
  std::string bad = add("bad", "ab\xff");
  config_.tokens.val_share = 0.5;
  EXPECT_NO_THROW(open_dataset(config_, {}));  // any bytes are valid
  for (const char* vocabulary : {"characters", "gpt2"}) {
    config_.tokens.vocabulary = *find_word<TokensConfig::Vocabulary>(vocabulary);
    EXPECT_THAT(open_refusal(config_), HasAll(bad + ":1: byte 2: the text is not UTF-8", "bytes"));
  }
  config_.tokens.text = {(folder_ / "none").string()};
  EXPECT_THAT(open_refusal(config_), HasAll((folder_ / "none").string(), "no such file"));
  config_.tokens.text = {};
  add("empty", "");
  EXPECT_THAT(open_refusal(config_), HasSubstr("empty"));
}

// Which other texts are refused, csv_forms_test.cpp asks.
TEST_F(TextTest, TextInUtf16IsNamedUnlessAnyBytesWillDo) {
  add("text.txt", std::string("\xff\xfe"
                              "a\0b\0",
                              6));
  config_.tokens.vocabulary = TokensConfig::Vocabulary::characters;
  EXPECT_THAT(open_refusal(config_), HasSubstr("UTF-16 by its byte order mark"));
  config_.tokens.vocabulary = TokensConfig::Vocabulary::bytes;
  EXPECT_EQ(read_text_tokens(config_.tokens).ids.size(), 6u);
}

TEST_F(TextTest, WhatIsNoTextIsNamedWithAnyVocabulary) {
  for (const auto& [begin, kind] : {std::pair{"%PDF-1.4\n", "a PDF file"},
                                    {"\x89PNG\r\n", "a PNG image"},
                                    {"PK\x03\x04 xl/workbook.xml", "an Excel workbook"},
                                    {"PK\x03\x04", "a ZIP archive"}}) {
    config_.tokens.text = {};
    std::string file = add("text.txt", std::string(begin) + std::string(100, 'x'));
    for (auto vocabulary :
         {TokensConfig::Vocabulary::bytes, TokensConfig::Vocabulary::characters}) {
      config_.tokens.vocabulary = vocabulary;
      EXPECT_THAT(open_refusal(config_), HasSubstr(file + ": is " + kind));
    }
  }
}

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
              HasAll("byte 2", "U+00E9"));
  EXPECT_THAT(message_of(Category::data, [&] { characters->encode("abc\xff"); }),
              HasAll("byte 3", "is not UTF-8"));
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
