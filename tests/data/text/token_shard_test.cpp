#include <functional>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/data/text/token_dataset.h"
#include "tests/data/text/shard_files.h"

namespace spire {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<int32_t> read_all(const TokenShard& shard) {
  std::vector<int32_t> ids(static_cast<size_t>(shard.count()));
  shard.read(0, ids);
  return ids;
}

Bytes file_bytes(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(TokenShard, IsWrittenAsDocumented) {
  TemporaryFolder folder;
  write_token_shard(folder / "small", std::vector{0, 65535, 258}, 65536);
  EXPECT_EQ(file_bytes(folder / "small"), shard_bytes<uint16_t>({0, 65535, 258}, 65536));
  write_token_shard(folder / "large", std::vector{0, 65536}, 65537);
  EXPECT_EQ(file_bytes(folder / "large"), shard_bytes<uint32_t>({0, 65536}, 65537));
  EXPECT_THROW(write_token_shard(folder / "bad", std::vector{7}, 7), Error);
  EXPECT_FALSE(std::filesystem::exists(folder / "bad"));
}

TEST(TokenShard, ReadsWhatWasWritten) {
  TemporaryFolder folder;
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
  TemporaryFolder folder;
  write_file(folder / "shard", shard_bytes<uint16_t>({1, 2, 9, 3}, 9));
  TokenShard shard(folder / "shard");
  std::vector<int32_t> two(2);
  shard.read(0, two);
  EXPECT_THAT(two, ElementsAre(1, 2));
  std::string message = message_of(Category::data, [&] { shard.read(1, two); });
  EXPECT_THAT(message, AllOf(HasSubstr((folder / "shard").string()), HasSubstr("byte 68"),
                             HasSubstr("token 2 has the id 9"), HasSubstr("ends at 8")));
  EXPECT_THAT(message_of(Category::data, [&] { shard.verify(); }), HasSubstr("token 2"));
}

TEST(TokenShard, AnyFlippedBitOfTheTokensFailsTheChecksum) {
  TemporaryFolder folder;
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
  const char* name;
  std::function<void(Bytes&)> damage;  // of a good shard of three ids
  const char* says;
};

class DamagedShardTest : public testing::TestWithParam<DamagedShard> {};

TEST_P(DamagedShardTest, IsRefusedWithItsMessage) {
  TemporaryFolder folder;
  Bytes bytes = shard_bytes<uint16_t>({1, 2, 3}, 300);
  GetParam().damage(bytes);
  write_file(folder / "shard", bytes);
  EXPECT_THAT(message_of(Category::data, [&] { TokenShard(folder / "shard"); }),
              AllOf(HasSubstr((folder / "shard").string()), HasSubstr(GetParam().says)));
}

void set(Bytes& bytes, size_t at, uint64_t value, size_t size) {
  for (size_t i = 0; i < size; ++i) bytes[at + i] = static_cast<uint8_t>(value >> (8 * i));
}

const std::vector<DamagedShard> damaged_shards = {
    {"Empty", [](Bytes& bytes) { bytes.clear(); }, "ends at byte 0, within the header of 64"},
    {"InTheHeader", [](Bytes& bytes) { bytes.resize(63); }, "ends at byte 63"},
    {"HeaderAlone", [](Bytes& bytes) { bytes.resize(64); }, "0 bytes follow"},
    {"Truncated", [](Bytes& bytes) { bytes.pop_back(); }, "3 tokens of 2 bytes are announced, 5"},
    {"Trailing", [](Bytes& bytes) { bytes.push_back(0); }, "byte 70: data beyond the 3"},
    {"Magic", [](Bytes& bytes) { bytes[0] = 's'; }, "bytes 0-7"},
    {"Format", [](Bytes& bytes) { bytes[8] = 2; }, "byte 8: format 2"},
    {"Element", [](Bytes& bytes) { bytes[12] = 3; }, "byte 12: 3 bytes per token"},
    {"NoTokens", [](Bytes& bytes) { set(bytes, 16, 0, 8); }, "byte 16: contains no tokens"},
    {"CountOverflows",
     [](Bytes& bytes) { set(bytes, 16, std::numeric_limits<uint64_t>::max(), 8); }, "truncated"},
    {"CountWraps", [](Bytes& bytes) { set(bytes, 16, (uint64_t{1} << 63) + 3, 8); }, "truncated"},
    {"NoVocabulary", [](Bytes& bytes) { set(bytes, 24, 0, 8); }, "byte 24: a vocabulary of 0"},
    {"Vocabulary", [](Bytes& bytes) { set(bytes, 24, 65537, 8); }, "expected 1 to 65536"},
    {"Reserved", [](Bytes& bytes) { bytes[63] = 1; }, "bytes 40-63"},
};

INSTANTIATE_TEST_SUITE_P(All, DamagedShardTest, testing::ValuesIn(damaged_shards),
                         [](const auto& one) { return one.param.name; });

TEST(TokenShards, AreReadAsOneSequence) {
  TemporaryFolder folder;
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
  TemporaryFolder folder;
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
              AllOf(HasSubstr((folder / "none").string()), HasSubstr("data.path")));
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
