#include "engine/data/text/packed_documents.h"

#include <algorithm>
#include <numeric>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/data/text/vocabulary.h"
#include "engine/data/validation.h"
#include "tests/data/text/shard_files.h"

namespace spire {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr int32_t sep = 3;

class PackedTest : public testing::Test {
 protected:
  void SetUp() override {
    config_.tokens.length = 4;
    config_.tokens.documents = TokensConfig::Documents::packed;
  }
  // A document a text, in a file of their own or several.
  void write_documents(const std::string& name, const std::vector<std::string>& texts) {
    std::string lines;
    for (const std::string& text : texts) lines += "{\"text\": \"" + text + "\"}\n";
    write_text(folder_ / name, lines);
    config_.tokens.text.push_back((folder_ / name).string());
  }

  Folder folder_;
  DataConfig config_ = data_at("tokens", "auto");
};

TEST_F(PackedTest, DocumentsBeginAtSeparators) {
  auto found = [](std::vector<int32_t> ids) { return find_documents(*sequence_of(ids, 256), sep); };
  EXPECT_THAT(found({3, 8, 9, 3, 3, 7}),
              ElementsAre(TokenDocument{0, 3}, TokenDocument{3, 1}, TokenDocument{4, 2}));
  // What precedes the first one is a document, too.
  EXPECT_THAT(found({8, 3, 9}), ElementsAre(TokenDocument{0, 1}, TokenDocument{1, 2}));
  EXPECT_THAT(message_of(Category::data,
                         [&] {
                           found({1, 2});
                         }),
              HasAll("no token 3, which begins one", "use joined"));
}

// Targets cross no border but to the separator; positions begin anew at borders and rows.
TEST_F(PackedTest, RowsHaveTokensTargetsAndPositions) {
  PackedDocuments data(sequence_of(std::vector<int32_t>{3, 11, 12, 3, 21, 22, 23, 24, 25, 3}, 256),
                       {{0, 3}, {3, 6}, {9, 1}}, 4, PackedDocuments::Order::stored, 1, "bytes",
                       256);
  EXPECT_THAT(data.spec().columns,
              ElementsAre(Column{"tokens", {4}, DType::i32}, Column{"targets", {4}, DType::i32},
                          Column{"positions", {4}, DType::i32}));
  EXPECT_EQ(data.count(), 2);
  EXPECT_THAT(read_column<int32_t>(data, 0, {0, 1}), ElementsAre(3, 11, 12, 3, 21, 22, 23, 24));
  EXPECT_THAT(read_column<int32_t>(data, 1, {0, 1}), ElementsAre(11, 12, 3, 21, 22, 23, 24, 25));
  EXPECT_THAT(read_column<int32_t>(data, 2, {0, 1}), ElementsAre(0, 1, 2, 0, 0, 1, 2, 3));
}

TEST(MisplacedToken, IsNoFirstOfADocumentAndNotBehindItsPredecessor) {
  auto misplaced = [](std::vector<int32_t> row) { return misplaced_token(row); };
  EXPECT_EQ(misplaced({}), std::nullopt);
  EXPECT_EQ(misplaced({0, 0, 1, 2, 0, 1}), std::nullopt);
  EXPECT_EQ(misplaced({1, 2}), 0);
  EXPECT_EQ(misplaced({0, 1, 3}), 2);
  EXPECT_EQ(misplaced({0, -1}), 1);
}

// Each epoch has whole documents of all files, in another order, which seed and epoch decide.
TEST_F(PackedTest, EachEpochPermutesTheDocumentsOfAllFiles) {
  write_documents("1.jsonl", {"aA", "bB", "cC", "dD", "eE", "fF"});
  write_documents("2.jsonl", {"gG", "hH", "iI", "jJ", "last"});
  config_.tokens.length = 3;  // a separator and two letters: a document a row
  auto order = [&](uint64_t seed, int64_t epoch) {
    DatasetPair data = open_dataset(config_, {.seed = seed});
    EXPECT_EQ(data.train->count(), 9);  // of 10 documents: the last token is a target alone
    return read_all<int32_t>(*data.train, 0, epoch);
  };
  std::set<std::vector<int32_t>> orders;
  for (int64_t epoch = 0; epoch < 8; ++epoch) {
    std::vector<int32_t> tokens = order(1, epoch);
    orders.insert(tokens);
    std::set<int32_t> seen;
    for (size_t i = 0; i < tokens.size(); i += 3) {
      EXPECT_EQ(tokens[i], sep);
      EXPECT_EQ(tokens[i + 2], tokens[i + 1] - 'a' + 'A');
      seen.insert(tokens[i + 1]);
    }
    EXPECT_EQ(seen.size(), 9u);
  }
  EXPECT_EQ(orders.size(), 8u);
  EXPECT_EQ(order(1, 3), order(1, 3));
  EXPECT_NE(order(1, 3), order(2, 3));
}

// Readers ask for rows of several epochs in any order.
TEST_F(PackedTest, RowsAreAFunctionOfTheEpoch) {
  write_documents("1.jsonl", {"abc", "de", "fghij", "k", "lmno", "pq", "rstuvw"});
  DatasetPair data = open_dataset(config_, {.seed = 5});
  std::vector<std::vector<int32_t>> epochs;
  for (int64_t epoch = 0; epoch < 5; ++epoch)
    epochs.push_back(read_all<int32_t>(*data.train, 0, epoch));
  for (int64_t epoch : {4, 0, 2, 1, 3, 0})
    EXPECT_EQ(read_all<int32_t>(*data.train, 0, epoch), epochs[static_cast<size_t>(epoch)]);
}

TEST_F(PackedTest, TheLastDocumentsAreTestData) {
  write_documents("1.jsonl", {"abcdefgh", "ijklmnop", "qrstuvwx"});
  config_.tokens.val_share = 0.2;
  DatasetPair data = open_dataset(config_, {});
  EXPECT_THAT(read_all<int32_t>(*data.test, 0, 0),
              ElementsAre(sep, 'q', 'r', 's', 't', 'u', 'v', 'w'));
  config_.tokens.val_share = 0.9;  // one is left for training
  EXPECT_THAT(read_all<int32_t>(*open_dataset(config_, {.as_evaluation = true}).train, 0, 0),
              ElementsAre(sep, 'a', 'b', 'c', 'd', 'e', 'f', 'g'));
}

// Rows have other documents in each epoch, so whole documents are held out.
TEST_F(PackedTest, ValidationDataAreDocuments) {
  write_documents("1.jsonl", {"aaaaaaa", "bbbbbbb", "ccccccc", "ddddddd", "eeeeeee", "fffffff"});
  config_.val.share = 0.4;
  config_.tokens.val_share = 0.1;
  DatasetPair data = open_dataset(config_, {.seed = 9});
  ASSERT_NE(data.val, nullptr);
  auto letters = [](const std::vector<int32_t>& ids) {
    std::set<int32_t> set(ids.begin(), ids.end());
    set.erase(sep);
    return set;
  };
  std::set<int32_t> held_out = letters(read_all<int32_t>(*data.val, 0, 0)), trained;
  EXPECT_EQ(held_out.size(), 2u);
  for (int64_t epoch = 0; epoch < 6; ++epoch)
    trained.merge(letters(read_all<int32_t>(*data.train, 0, epoch)));
  EXPECT_EQ(trained.size(), 3u);
  for (int32_t letter : trained) EXPECT_FALSE(held_out.contains(letter));
  // The choice is the same for every seed.
  EXPECT_EQ(letters(read_all<int32_t>(*open_dataset(config_, {.seed = 10}).val, 0, 0)), held_out);
  config_.val.share = 0.01;
  EXPECT_THAT(open_refusal(config_, Category::config), HasSubstr("0.01 of 5 documents"));
}

TEST_F(PackedTest, TextFilesAreADocumentEach) {
  write_text(folder_ / "a", "abcdefg");
  write_text(folder_ / "b", "hijklmn");
  config_.tokens.text = {(folder_ / "a").string(), (folder_ / "b").string()};
  for (auto vocabulary : {TokensConfig::Vocabulary::bytes, TokensConfig::Vocabulary::characters}) {
    config_.tokens.vocabulary = vocabulary;
    DatasetPair data = open_dataset(config_, {.as_evaluation = true});
    EXPECT_THAT(read_all<int32_t>(*data.train, 2, 0), ElementsAre(0, 1, 2, 3));
    EXPECT_EQ(data.train->count(), 1);
    EXPECT_EQ(data.test->count(), 1);
  }
}

TEST_F(PackedTest, ShardsKeepTheDocuments) {
  config_.path = folder_.path().string();
  write_token_shard(folder_ / "train_0000.tokens", std::vector<int32_t>{3, 7, 8, 3, 9}, 256);
  write_token_shard(folder_ / "train_0001.tokens", std::vector<int32_t>{10, 11, 12, 13}, 256);
  write_token_shard(folder_ / "val_0000.tokens", std::vector<int32_t>{3, 20, 21, 22, 23}, 256);
  EXPECT_THAT(open_refusal(config_, Category::config), HasSubstr("packed needs a vocabulary"));
  write_text(folder_ / "vocabulary.txt", character_vocabulary("abc")->to_text());
  EXPECT_THAT(open_refusal(config_), HasSubstr("with the token U+0003 between documents"));
  write_text(folder_ / "vocabulary.txt", "bytes");
  DatasetPair data = open_dataset(config_, {.as_evaluation = true});
  EXPECT_THAT(read_all<int32_t>(*data.train, 0, 0), ElementsAre(3, 7, 8, 3, 9, 10, 11, 12));
  EXPECT_THAT(read_all<int32_t>(*data.train, 2, 0), ElementsAre(0, 1, 2, 0, 0, 1, 2, 3));
}

TEST_F(PackedTest, TooLittleIsRefused) {
  write_documents("1.jsonl", {"only one document"});
  EXPECT_THAT(open_refusal(config_), HasSubstr("there is one document"));
  write_documents("2.jsonl", {"ab"});
  EXPECT_THAT(open_refusal(config_),
              HasSubstr("4 needs 5 tokens, but the documents for evaluation have 3"));
}

}  // namespace
}  // namespace spire
