#include "engine/data/text/text_tokens.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include "engine/config/words.h"
#include "tests/data/text/bpe_files.h"

namespace spire {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class TextTest : public testing::Test {
 protected:
  std::string add(const std::string& name, const std::string& text) {
    write_text(folder_ / name, text);
    config_.tokens.text.push_back((folder_ / name).string());
    return config_.tokens.text.back();
  }
  void SetUp() override {
    config_.name = "tokens";
    config_.tokens.length = 2;
  }
  std::string refusal() {
    return message_of(Category::data, [&] { open_dataset(config_, {}); });
  }

  TemporaryFolder folder_;
  DataConfig config_;
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
              AllOf(HasSubstr((folder_ / "none" / "gpt2").string()), HasSubstr("bpe_path")));
  ASSERT_EQ(unsetenv("SPIRE_DATA"), 0);
}

TEST_F(TextTest, InvalidUtf8IsNamedByFileAndByte) {
  add("good", "abcdefg");
  std::string bad = add("bad", "ab\xff");
  config_.tokens.val_share = 0.5;
  EXPECT_NO_THROW(open_dataset(config_, {}));  // any bytes are valid
  for (const char* vocabulary : {"characters", "gpt2"}) {
    config_.tokens.vocabulary = *find_word<TokensConfig::Vocabulary>(vocabulary);
    EXPECT_THAT(refusal(),
                AllOf(HasSubstr(bad + ":1: byte 2: the text is not UTF-8"), HasSubstr("bytes")));
  }
  config_.tokens.text = {(folder_ / "none").string()};
  EXPECT_THAT(refusal(), AllOf(HasSubstr((folder_ / "none").string()), HasSubstr("no such file")));
  config_.tokens.text = {};
  add("empty", "");
  EXPECT_THAT(refusal(), HasSubstr("empty"));
}

TEST_F(TextTest, TextInUtf16IsNamedWithTheCommand) {
  write_file(folder_ / "text.txt", {0xff, 0xfe, 'a', 0, 'b', 0});
  config_.tokens.text = {(folder_ / "text.txt").string()};
  config_.tokens.vocabulary = TokensConfig::Vocabulary::characters;
  EXPECT_THAT(refusal(), AllOf(HasSubstr("UTF-16 by its byte order mark"),
                               HasSubstr("iconv -f UTF-16 -t utf-8")));
  config_.tokens.vocabulary = TokensConfig::Vocabulary::bytes;
  EXPECT_EQ(read_text_tokens(config_.tokens).ids.size(), 6u);
}

TEST_F(TextTest, DamagedGzipIsRefused) {
  Bytes zipped = gzip({'a', 'b', 'c'});
  zipped.pop_back();
  write_file(folder_ / "text.gz", zipped);
  config_.tokens.text = {(folder_ / "text.gz").string()};
  EXPECT_THAT(refusal(), AllOf(HasSubstr("text.gz"), HasSubstr("truncated")));
}

}  // namespace
}  // namespace spire
