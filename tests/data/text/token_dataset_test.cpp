#include "engine/data/text/token_dataset.h"

#include <limits>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/data/text/vocabulary.h"
#include "tests/data/text/shard_files.h"

namespace spire {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class TokensTest : public testing::Test {
 protected:
  void SetUp() override { config_.tokens.length = 4; }
  // Writes shards of 42 and 58 training tokens, 0, 1, ..., and of 11 test tokens, 200, 201, ...
  void write_shards(int64_t vocabulary = 300) {
    write_token_shard(folder_ / "train_0000.tokens", counted(42), vocabulary);
    write_token_shard(folder_ / "train_0001.tokens", counted(58, 42), vocabulary);
    write_token_shard(folder_ / "val_0000.tokens", counted(11, 200), vocabulary);
  }

  Folder folder_;
  DataConfig config_ = data_at("tokens", folder_.path());
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
              ElementsAre(HasAll("data.path: " + config_.path + " is not read",
                                 "leave one of the two out")));
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
  EXPECT_THAT(open_refusal(config_),
              HasAll("51 needs 102 tokens, but there are 100 for the training"));
  config_.tokens.length = 11;
  EXPECT_THAT(open_refusal(config_), HasSubstr("needs 12 tokens, but there are 11 for the test"));
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
  EXPECT_THAT(open_refusal(config_), HasSubstr((folder_ / "none").string()));
}

TEST_F(TokensTest, VocabulariesThatDoNotFitAreRefused) {
  write_shards(250);
  config_.tokens.vocabulary = TokensConfig::Vocabulary::characters;
  EXPECT_THAT(open_refusal(config_, Category::config), HasSubstr("needs vocabulary.txt"));
  config_.tokens.vocabulary = TokensConfig::Vocabulary::bytes;
  EXPECT_THAT(open_refusal(config_),
              HasAll("train_0000.tokens", "vocabulary of 250, but bytes has 256"));
  config_.tokens.vocabulary = TokensConfig::Vocabulary::automatic;
  write_text(folder_ / "vocabulary.txt", "characters:\"ba\"");
  EXPECT_THAT(open_refusal(config_), HasSubstr("not in ascending order"));
}

TEST_F(TokensTest, SplitsOfTwoVocabulariesAreRefused) {
  write_shards();
  write_token_shard(folder_ / "val_0000.tokens", counted(11), 299);
  EXPECT_THAT(open_refusal(config_), HasSubstr("val_0000.tokens: has a vocabulary of 299"));
  std::filesystem::remove(folder_ / "val_0000.tokens");
  EXPECT_THAT(open_refusal(config_), HasSubstr("val_0000.tokens"));
  config_.path = "auto";
  EXPECT_THAT(open_refusal(config_, Category::config), HasAll("data.path", "tokens.text"));
}

std::vector<int32_t> read_all(const TokenShard& shard) {
  std::vector<int32_t> ids(static_cast<size_t>(shard.count()));
  shard.read(0, ids);
  return ids;
}

TEST(TokenShard, IsWrittenAsDocumented) {
  Folder folder;
  write_token_shard(folder / "small", std::vector{0, 65535, 258}, 65536);
  EXPECT_EQ(file_bytes(folder / "small"), shard_bytes<uint16_t>({0, 65535, 258}, 65536));
  write_token_shard(folder / "large", std::vector{0, 65536}, 65537);
  EXPECT_EQ(file_bytes(folder / "large"), shard_bytes<uint32_t>({0, 65536}, 65537));
  EXPECT_THROW(write_token_shard(folder / "bad", std::vector{7}, 7), Error);
  EXPECT_FALSE(std::filesystem::exists(folder / "bad"));
}

TEST(TokenShard, ReadsWhatWasWritten) {
  Folder folder;
  for (int64_t vocabulary : {5000, 70000}) {
    std::vector<int32_t> ids = counted(9000, 0, vocabulary);
    write_token_shard(folder / "shard", ids, vocabulary);
    TokenShard shard(folder / "shard");
    EXPECT_EQ(shard.vocabulary(), vocabulary);
    EXPECT_EQ(read_all(shard), ids);
    std::vector<int32_t> part(3);
    shard.read(4998, part);
    EXPECT_EQ(part, std::vector<int32_t>(ids.begin() + 4998, ids.begin() + 5001));
    EXPECT_NO_THROW(shard.verify());
    EXPECT_THROW(shard.read(8998, part), Error);
  }
}

TEST(TokenShard, IdsBeyondTheVocabularyAreFoundByReading) {
  Folder folder;
  write_file(folder / "shard", shard_bytes<uint16_t>({1, 2, 9, 3}, 9));
  TokenShard shard(folder / "shard");
  std::vector<int32_t> two(2);
  shard.read(0, two);
  EXPECT_THAT(two, ElementsAre(1, 2));
  std::string message = message_of(Category::data, [&] { shard.read(1, two); });
  EXPECT_THAT(message,
              HasAll((folder / "shard").string(), "byte 68", "token 2 has the id 9", "ends at 8"));
  EXPECT_THAT(message_of(Category::data, [&] { shard.verify(); }), HasSubstr("token 2"));
}

TEST(TokenShard, AnyFlippedBitOfTheTokensFailsTheChecksum) {
  Folder folder;
  Bytes good = shard_bytes<uint16_t>({3, 1, 4, 1}, 65536);
  for (size_t bit = 64 * 8; bit < good.size() * 8; ++bit) {
    Bytes bad = good;
    bad[bit / 8] ^= static_cast<uint8_t>(1u << bit % 8);
    write_file(folder / "shard", bad);
    EXPECT_THAT(message_of(Category::data, [&] { TokenShard(folder / "shard").verify(); }),
                HasSubstr("checksum"));
  }
}

struct DamagedShard {
  size_t at, size;  // the bytes that are replaced
  uint64_t value;   // of their new content, little-endian
  const char* says;
};

// Of a good shard of three ids.
const std::vector<DamagedShard> damaged_shards = {
    {0, 1, 's', "bytes 0-7"},
    {8, 1, 2, "byte 8: format 2"},
    {12, 1, 3, "byte 12: 3 bytes per token"},
    {16, 8, 0, "byte 16: contains no tokens"},
    {16, 8, std::numeric_limits<uint64_t>::max(), "truncated"},
    {16, 8, (uint64_t{1} << 63) + 3, "truncated"},
    {24, 8, 0, "byte 24: a vocabulary of 0"},
    {24, 8, 65537, "expected 1 to 65536"},
    {63, 1, 1, "bytes 40-63"},
};

TEST(TokenShard, DamageIsNamed) {
  Folder folder;
  const Bytes good = shard_bytes<uint16_t>({1, 2, 3}, 300);
  auto expect_refusal = [&](const Bytes& bytes, const char* says) {
    write_file(folder / "shard", bytes);
    EXPECT_THAT(message_of(Category::data, [&] { TokenShard(folder / "shard"); }),
                HasAll((folder / "shard").string(), says));
  };
  for (const DamagedShard& damage : damaged_shards) {
    Bytes bytes = good;
    for (size_t i = 0; i < damage.size; ++i)
      bytes[damage.at + i] = static_cast<uint8_t>(damage.value >> (8 * i));
    expect_refusal(bytes, damage.says);
  }
  for (const auto& [size, says] : {std::pair(0, "ends at byte 0, within the header of 64"),
                                   {63, "ends at byte 63"},
                                   {64, "0 bytes follow"},
                                   {69, "3 tokens of 2 bytes are announced, 5"},
                                   {71, "byte 70: data beyond the 3"}}) {
    Bytes bytes = good;
    bytes.resize(static_cast<size_t>(size));
    expect_refusal(bytes, says);
  }
}

TEST(TokenShards, AreReadAsOneSequence) {
  Folder folder;
  std::vector<int64_t> sizes = {5, 1, 1, 7};
  int64_t begin = 0;
  for (size_t i = 0; i < sizes.size(); begin += sizes[i++])
    write_token_shard(folder.path() / token_shard_name("val", static_cast<int64_t>(i)),
                      counted(sizes[i], begin), 100);
  EXPECT_EQ(token_shard_name("val", 12).string(), "val_0012.tokens");
  auto sequence = sequence_of(open_token_shards(folder.path(), "val"));
  EXPECT_EQ(sequence->count(), 14);
  for (int64_t first = 0; first < 14; ++first)
    for (int64_t count = 0; first + count <= 14; ++count) {
      std::vector<int32_t> ids(static_cast<size_t>(count));
      sequence->read(first, ids);
      EXPECT_EQ(ids, counted(count, first));
    }
  std::vector<int32_t> beyond(2);
  EXPECT_THROW(sequence->read(13, beyond), Error);
}

TEST(TokenShards, MustBeCompleteAndOfOneVocabulary) {
  Folder folder;
  auto refusal = [&] {
    return message_of(Category::data, [&] { open_token_shards(folder.path(), "train"); });
  };
  EXPECT_THAT(refusal(), HasSubstr("contains no train_0000.tokens"));
  write_token_shard(folder / "train_0000.tokens", counted(3), 9);
  write_token_shard(folder / "train_0002.tokens", counted(3), 9);
  EXPECT_THAT(refusal(), HasSubstr((folder / "train_0001.tokens").string() + ": is missing"));
  write_token_shard(folder / "train_0001.tokens", counted(3), 8);
  EXPECT_THAT(refusal(), HasSubstr("a vocabulary of 8"));
  EXPECT_THAT(message_of(Category::data, [&] { open_token_shards(folder / "none", "train"); }),
              HasAll((folder / "none").string(), "data.path"));
}

TEST(TokenSequence, KeepsIdsOfAnySize) {
  for (int64_t vocabulary : {1 << 16, 1 << 20}) {
    std::vector<int32_t> ids = {0, static_cast<int32_t>(vocabulary - 1), 5}, read(2);
    auto sequence = sequence_of(ids, vocabulary);
    EXPECT_EQ(sequence->count(), 3);
    sequence->read(1, read);
    EXPECT_THAT(read, ElementsAre(vocabulary - 1, 5));
  }
}

}  // namespace
}  // namespace spire
