#include "engine/data/text/token_dataset.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/data/text/vocabulary.h"
#include "tests/data/text/shard_files.h"

namespace spire {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class TokensTest : public testing::Test {
 protected:
  void SetUp() override {
    config_.name = "tokens";
    config_.path = folder_.path().string();
    config_.tokens.length = 4;
  }
  // Writes shards of 42 and 58 training tokens, 0, 1, ..., and of 11 test tokens, 200, 201, ...
  void write_shards(int64_t vocabulary = 300) {
    write_token_shard(folder_ / "train_0000.tokens", counted(42), vocabulary);
    write_token_shard(folder_ / "train_0001.tokens", counted(58, 42), vocabulary);
    write_token_shard(folder_ / "val_0000.tokens", counted(11, 200), vocabulary);
  }
  std::string refusal(Category category) {
    return message_of(category, [&] { open_dataset(config_, options_); });
  }

  TemporaryFolder folder_;
  DataConfig config_;
  ReadOptions options_ = {DType::bf16, 9};
};

TEST_F(TokensTest, ASampleIsAWindowAndTheNextTokens) {
  write_shards();
  DatasetPair pair = open_dataset(config_, options_);
  const SampleSpec& spec = pair.train->spec();
  EXPECT_THAT(spec.columns,
              ElementsAre(Column{"tokens", {4}, DType::i32}, Column{"targets", {4}, DType::i32}));
  EXPECT_EQ(spec.classes, 300);
  EXPECT_EQ(spec.vocabulary, "");
  EXPECT_EQ(pair.test->count(), 2);  // 11 tokens: 4 + 4 + the target of the last
  EXPECT_THAT(read_column<int32_t>(*pair.test, 0, {1, 0}, 5),
              ElementsAre(204, 205, 206, 207, 200, 201, 202, 203));
  EXPECT_THAT(read_column<int32_t>(*pair.test, 1, {1, 0}, 6),
              ElementsAre(205, 206, 207, 208, 201, 202, 203, 204));
}

TEST_F(TokensTest, ShardsForTestingMakeTheOthersValidationData) {
  write_shards();
  EXPECT_EQ(open_dataset(config_, options_).val, nullptr);
  write_token_shard(folder_ / "test_0000.tokens", counted(14, 100), 300);
  DatasetPair three = open_dataset(config_, options_);
  EXPECT_EQ(three.test->count(), 3);
  EXPECT_EQ(three.val->count(), 2);
  EXPECT_THAT(read_column<int32_t>(*three.val, 0, {0}), ElementsAre(200, 201, 202, 203));
  EXPECT_THAT(read_column<int32_t>(*three.test, 0, {0}), ElementsAre(100, 101, 102, 103));
  config_.val.share = 0.5;
  EXPECT_THAT(open_dataset(config_, options_).notes,
              ElementsAre(HasSubstr("'val' not read, as data.val.share gives")));
}

// Texts are one text, whatever their files are called.
TEST_F(TokensTest, TextsNamedAsPartsAreNoted) {
  for (const char* name : {"train.txt", "test.txt"}) {
    write_text(folder_ / name, std::string(60, 'x'));
    config_.tokens.text.push_back((folder_ / name).string());
  }
  EXPECT_THAT(
      open_dataset(config_, options_).notes,
      testing::Contains(HasSubstr("train.txt, test.txt: read as one text, whose last 0.1 is")));
}

TEST_F(TokensTest, AFolderBesideATextIsNotRead) {
  write_text(folder_ / "a.txt", std::string(100, 'a'));
  config_.tokens.text = {(folder_ / "a.txt").string()};
  EXPECT_THAT(open_dataset(config_, options_).notes,
              ElementsAre(AllOf(HasSubstr("data.path: " + config_.path + " is not read"),
                                HasSubstr("leave one of the two out"))));
  config_.path = "auto";
  EXPECT_THAT(open_dataset(config_, options_).notes, testing::IsEmpty());
}

// As a run has them: N / T - 1, since they move.
TEST_F(TokensTest, TheDescriptionCountsTheWindowsOfARun) {
  write_shards();
  EXPECT_EQ(describe_dataset(config_).train.samples, 24);  // 100 / 4 - 1
  EXPECT_EQ(open_dataset(config_, options_).train->count(), 24);
}

// The windows of an epoch are contiguous from an offset on, which takes all values over epochs.
TEST_F(TokensTest, TrainingWindowsShiftByEpoch) {
  write_shards();
  DatasetPair pair = open_dataset(config_, options_);
  EXPECT_EQ(pair.train->count(), 24);
  std::set<int32_t> offsets;
  for (int64_t epoch = 0; epoch < 40; ++epoch) {
    int32_t offset = read_column<int32_t>(*pair.train, 0, {0}, epoch)[0];
    ASSERT_TRUE(offset >= 0 && offset < 4);
    offsets.insert(offset);
    for (int64_t sample : {0, 9, 10, 23}) {
      EXPECT_EQ(read_column<int32_t>(*pair.train, 0, {sample}, epoch),
                counted(4, offset + 4 * sample));
      EXPECT_EQ(read_column<int32_t>(*pair.train, 1, {sample}, epoch),
                counted(4, offset + 4 * sample + 1));
    }
  }
  EXPECT_EQ(offsets.size(), 4u);
}

TEST_F(TokensTest, OffsetsAreAFunctionOfSeedAndEpoch) {
  write_shards();
  auto offsets = [&](uint64_t seed) {
    DatasetPair pair = open_dataset(config_, {DType::f32, seed});
    std::vector<int32_t> first;
    for (int64_t epoch = 0; epoch < 20; ++epoch)
      first.push_back(read_column<int32_t>(*pair.train, 0, {0}, epoch)[0]);
    return first;
  };
  EXPECT_EQ(offsets(1), offsets(1));
  EXPECT_NE(offsets(1), offsets(2));
}

// For every length and offset the last window ends inside the data, and one more would not.
TEST_F(TokensTest, WindowsFitAtEveryOffset) {
  for (int64_t tokens = 2; tokens < 30; ++tokens)
    for (int64_t length = 1; 2 * length <= tokens; ++length) {
      std::vector<int32_t> ids = counted(tokens);
      TokenDataset moving(sequence_of(ids, 1 << 20), length, TokenDataset::Offset::by_epoch, 3, "",
                          1 << 20);
      TokenDataset fixed(sequence_of(ids, 1 << 20), length, TokenDataset::Offset::none, 3, "",
                         1 << 20);
      for (int64_t epoch = 0; epoch < 10; ++epoch) {
        auto last = read_column<int32_t>(moving, 1, {moving.count() - 1}, epoch);
        EXPECT_EQ(last.back(), moving.offset(epoch) + moving.count() * length);
      }
      EXPECT_GT(length - 1 + (moving.count() + 1) * length, tokens - 1);
      EXPECT_EQ(read_column<int32_t>(fixed, 1, {fixed.count() - 1}).back(), fixed.count() * length);
      EXPECT_GT((fixed.count() + 1) * length, tokens - 1);
    }
}

TEST_F(TokensTest, TooFewTokensAreRefused) {
  write_shards();
  config_.tokens.length = 51;
  EXPECT_THAT(refusal(Category::data),
              AllOf(HasSubstr("51 needs 102 tokens, but there are 100 for the training")));
  config_.tokens.length = 11;
  EXPECT_THAT(refusal(Category::data), HasSubstr("needs 12 tokens, but there are 11 for the test"));
}

TEST_F(TokensTest, AnIdOutOfRangeIsNamedWhenItIsRead) {
  write_shards();
  write_file(folder_ / "val_0000.tokens",
             shard_bytes<uint16_t>({0, 1, 2, 3, 4, 5, 6, 300, 8}, 300));
  DatasetPair pair = open_dataset(config_, options_);
  EXPECT_EQ(read_column<int32_t>(*pair.test, 0, {0}), counted(4));
  EXPECT_THAT(message_of(Category::data, [&] { read_column<int32_t>(*pair.test, 0, {1}); }),
              AllOf(HasSubstr("val_0000.tokens"), HasSubstr("token 7 has the id 300")));
}

TEST_F(TokensTest, TheVocabularyIsAFileBesideTheShards) {
  write_shards();
  std::string text = character_vocabulary("abc")->to_text();
  write_text(folder_ / "vocabulary.txt", text + "\n");
  EXPECT_EQ(open_dataset(config_, options_).test->spec().vocabulary, text);
  config_.tokens.vocabulary = TokensConfig::Vocabulary::characters;
  EXPECT_EQ(open_dataset(config_, options_).train->spec().vocabulary, text);
  config_.tokens.vocabulary = TokensConfig::Vocabulary::bytes;
  EXPECT_EQ(open_dataset(config_, options_).train->spec().vocabulary, "bytes");
  config_.tokens.vocabulary = TokensConfig::Vocabulary::gpt2;
  config_.tokens.bpe_path = (folder_ / "none").string();
  EXPECT_THAT(refusal(Category::data), HasSubstr((folder_ / "none").string()));
}

TEST_F(TokensTest, VocabulariesThatDoNotFitAreRefused) {
  write_shards(250);
  config_.tokens.vocabulary = TokensConfig::Vocabulary::characters;
  EXPECT_THAT(refusal(Category::config), HasSubstr("needs vocabulary.txt"));
  config_.tokens.vocabulary = TokensConfig::Vocabulary::bytes;
  EXPECT_THAT(refusal(Category::data), AllOf(HasSubstr("train_0000.tokens"),
                                             HasSubstr("vocabulary of 250, but bytes has 256")));
  config_.tokens.vocabulary = TokensConfig::Vocabulary::automatic;
  write_text(folder_ / "vocabulary.txt", "characters:\"ba\"");
  EXPECT_THAT(refusal(Category::data), HasSubstr("not in ascending order"));
}

TEST_F(TokensTest, SplitsOfTwoVocabulariesAreRefused) {
  write_shards();
  write_token_shard(folder_ / "val_0000.tokens", counted(11), 299);
  EXPECT_THAT(refusal(Category::data), HasSubstr("val_0000.tokens: has a vocabulary of 299"));
  std::filesystem::remove(folder_ / "val_0000.tokens");
  EXPECT_THAT(refusal(Category::data), HasSubstr("val_0000.tokens"));
  config_.path = "auto";
  EXPECT_THAT(refusal(Category::config), AllOf(HasSubstr("data.path"), HasSubstr("tokens.text")));
}

}  // namespace
}  // namespace spire
