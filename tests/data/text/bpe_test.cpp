#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/data/text/vocabulary.h"
#include "tests/data/text/bpe_files.h"

namespace spire {
namespace {

using testing::ElementsAre;

using Pretokens = std::vector<std::string>;

Pretokens pretokens_of(std::string_view text) {
  Pretokens pretokens;
  for_each_pretoken(text, [&](std::string_view pretoken) { pretokens.emplace_back(pretoken); });
  return pretokens;
}

TEST(Pretokens, AreTheMatchesOfThePattern) {
  EXPECT_EQ(pretokens_of("PeerInfo world"), (Pretokens{"PeerInfo", " world"}));
  EXPECT_EQ(pretokens_of("It's I'm we'll you'd they've you're don't"),
            (Pretokens{"It", "'s", " I", "'m", " we", "'ll", " you", "'d", " they", "'ve", " you",
                       "'re", " don", "'t"}));
  EXPECT_EQ(pretokens_of("'so 'S !'s"), (Pretokens{"'s", "o", " '", "S", " !'", "s"}));
  EXPECT_EQ(pretokens_of("abc123 4.5"), (Pretokens{"abc", "123", " 4", ".", "5"}));
  EXPECT_EQ(pretokens_of("a  b   c"), (Pretokens{"a", " ", " b", "  ", " c"}));
  EXPECT_EQ(pretokens_of("a \n b\n\nc\n"), (Pretokens{"a", " \n", " b", "\n", "\n", "c", "\n"}));
  EXPECT_EQ(pretokens_of("a  "), (Pretokens{"a", "  "}));
  EXPECT_EQ(pretokens_of("\tx \xc2\xa0y"), (Pretokens{"\t", "x", " ", "\xc2\xa0", "y"}));
  EXPECT_EQ(pretokens_of("na\xc3\xafve \xe4\xbd\xa0\xe5\xa5\xbd\xc2\xbd"),
            (Pretokens{"na\xc3\xafve", " \xe4\xbd\xa0\xe5\xa5\xbd", "\xc2\xbd"}));
  EXPECT_EQ(pretokens_of("e\xcc\x81x"), (Pretokens{"e", "\xcc\x81", "x"}));
  EXPECT_THAT(pretokens_of(""), testing::IsEmpty());
}

// A run of one kind is one pretoken however long it is: matching keeps no stack.
TEST(Pretokens, MayBeLong) {
  for (const char* part : {"a", " ", "1", "-", "\xe4\xbd\xa0"}) {
    std::string run;
    for (int i = 0; i < 1 << 20; ++i) run += part;
    EXPECT_EQ(pretokens_of(run), Pretokens{run}) << part;
  }
}

enum class Kind { letter, number, space, other };

// Found by the neighbours that share a pretoken with it.
Kind kind_of(char32_t code) {
  std::string text;
  append_utf8(text, code);
  if (pretokens_of("a" + text).size() == 1) return Kind::letter;
  if (pretokens_of("1" + text).size() == 1) return Kind::number;
  return pretokens_of("\t" + text).size() == 1 ? Kind::space : Kind::other;
}

// UnicodeData.txt of Unicode 14.0 has 131 756 letters, 1 791 numbers and 25 spaces; later versions
// add letters and numbers, never spaces so far.
TEST(Pretokens, KindsAreThoseOfUnicode) {
  std::map<Kind, int> counts;
  for (char32_t code = 0; code <= 0x10ffff; ++code)
    if (code < 0xd800 || code > 0xdfff) ++counts[kind_of(code)];
  EXPECT_GE(counts[Kind::letter], 131756);
  EXPECT_GE(counts[Kind::number], 1791);
  EXPECT_EQ(counts[Kind::space], 25);
  for (char32_t letter : {U'a', U'Z', U'\u00e9', U'\u0414', U'\u4e16', U'\U0001d400'})
    EXPECT_EQ(kind_of(letter), Kind::letter);
  for (char32_t number : {U'0', U'\u00bd', U'\u0663', U'\u2167'})
    EXPECT_EQ(kind_of(number), Kind::number);
  for (char32_t space : {U' ', U'\n', U'\u0085', U'\u00a0', U'\u3000'})
    EXPECT_EQ(kind_of(space), Kind::space);
  for (char32_t other : {U'_', U'\x1c', U'\u0301', U'\u180e', U'\u200b', U'\ufeff'})
    EXPECT_EQ(kind_of(other), Kind::other);
}

// merges.txt in the order of learning, so that "abc" is a + bc, and all of a pair at once.
TEST(Bpe, MergesTheEarliestPairFirst) {
  Folder folder;
  write_bpe(folder.path(), "#version: 0.2\nb c\na b\nab ab\na bc\na a\n",
            {"bc", "ab", "abab", "abc", "aa"});
  auto bpe = read_bpe(folder.path());
  EXPECT_EQ(bpe->size(), 261);
  EXPECT_EQ(bpe->name(), "gpt2");
  EXPECT_THAT(bpe->encode("abc"), ElementsAre(259));          // not ab + c
  EXPECT_THAT(bpe->encode("ababab"), ElementsAre(258, 257));  // from left to right
  EXPECT_THAT(bpe->encode("aaaaa"), ElementsAre(260, 260, 'a'));
  EXPECT_THAT(bpe->encode("ab ab"), ElementsAre(257, ' ', 257));  // never across pretokens
  EXPECT_EQ(bpe->decode(std::vector<int32_t>{259, 258, ' '}), "abcabab ");
  EXPECT_THAT(bpe->encode(""), testing::IsEmpty());
}

TEST(Bpe, EndOfTextIsOneToken) {
  Folder folder;
  write_bpe(folder.path(), "", {"<|endoftext|>"});
  auto bpe = read_bpe(folder.path());
  EXPECT_THAT(bpe->encode("a<|endoftext|><|endoftext|>b"), ElementsAre('a', 256, 256, 'b'));
  EXPECT_THAT(bpe->encode("<|endoftext"), testing::SizeIs(11));
  EXPECT_EQ(bpe->decode(std::vector<int32_t>{'a', 256}), "a<|endoftext|>");
}

TEST(Bpe, AnyUtf8ComesBack) {
  Folder folder;
  write_bpe(folder.path(), "\xc4\xa0 a\n",
            {"\xc4\xa0"
             "a"});  // U+0120 stands for the space
  auto bpe = read_bpe(folder.path());
  EXPECT_THAT(bpe->encode(" a"), ElementsAre(256));
  std::string text(1, '\0');
  text += "\x01\x7f \xc2\x80\xc2\xad\xf0\x9f\x98\x80 a\r\n";
  EXPECT_EQ(bpe->decode(bpe->encode(text)), text);
  EXPECT_THAT(message_of(Category::data, [&] { bpe->encode("ab\xff"); }),
              HasAll("byte 2", "is not UTF-8"));
  EXPECT_THAT(message_of(Category::data, [&] { bpe->decode(std::vector{257}); }),
              HasAll("token 257", folder.path().string()));
}

// Ids that the libraries tokenizers and tiktoken gave alike; record_bpe.py beside this file.
TEST(Bpe, EqualsOtherLibraries) {
  std::filesystem::path folder = DATA_FOLDER "/bpe";
  auto bpe = make_vocabulary("gpt2:" + folder.string());
  EXPECT_EQ(bpe->size(), 701);
  std::ifstream file(folder / "ids.json");
  auto cases = nlohmann::json::parse(file);
  ASSERT_GE(cases.size(), 14u);
  for (const auto& one : cases) {
    auto text = one["text"].get<std::string>();
    EXPECT_EQ(bpe->encode(text), one["ids"].get<std::vector<int32_t>>()) << text;
    EXPECT_EQ(bpe->decode(bpe->encode(text)), text);
  }
}

const std::string good = vocabulary_json({"ab"});

std::string with(const std::string& from, const std::string& to) {
  std::string text = good;
  return text.replace(text.find(from), from.size(), to);
}

struct Broken {
  std::string vocabulary, merges;
  const char* file;  // named by the message
  const char* says;
};

const std::vector<Broken> broken_bpe_files = {
    {"", "a b\n", "vocab.json", "is not a JSON object"},
    {good.substr(0, 500), "a b\n", "vocab.json", "is not a JSON object"},
    {"[1]", "a b\n", "vocab.json", "is not a JSON object"},
    {with("\"ab\":256", "\"ab\":0"), "a b\n", "vocab.json", "of 0 to 256 once"},
    {with("\"ab\":256", "\"ab\":257"), "a b\n", "vocab.json", "token 'ab': id 257"},
    {with("\"ab\":256", "\"ab\":-1"), "a b\n", "vocab.json", "id -1"},
    {with("\"ab\":256", "\"ab\":\"x\""), "a b\n", "vocab.json", "id \"x\""},
    {with("\"ab\"", "\"\xe2\x82\xac\""), "", "vocab.json", "does not stand for a byte"},
    {with("\"Z\"", "\"ZZ\""), "a b\n", "vocab.json", "for byte 90"},
    {good, "#version: 0.2\na b\nab\n", "merges.txt:3", "two tokens"},
    {good, "a b ab\n", "merges.txt:1", "two tokens"},
    {good, "a ab\n", "merges.txt:1", "'aab' is not a token"},
    {good, "a\xc3 b\n", "merges.txt:1", "is not a token"},
    {good, "a b\n\na b\n", "merges.txt:3", "given twice"},
};

TEST(Bpe, BrokenFilesAreRefused) {
  for (const Broken& broken : broken_bpe_files) {
    Folder folder;
    write_text(folder / "vocab.json", broken.vocabulary);
    write_text(folder / "merges.txt", broken.merges);
    EXPECT_THAT(message_of(Category::data, [&] { read_bpe(folder.path()); }),
                HasAll((folder / broken.file).string(), broken.says));
  }
}

TEST(Bpe, MissingFilesAreNamed) {
  Folder folder;
  std::string message = message_of(Category::data, [&] { read_bpe(folder.path()); });
  EXPECT_THAT(message, HasAll(folder.path().string(), "encoder.json", "vocab.json"));
  write_text(folder / "encoder.json", good);
  EXPECT_THAT(message_of(Category::data, [&] { read_bpe(folder.path()); }),
              HasAll("vocab.bpe", "merges.txt"));
}

}  // namespace
}  // namespace spire
