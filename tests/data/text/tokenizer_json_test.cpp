// A tokenizer.json must give the ids of encoder.json and vocab.bpe, and refuse what it cannot give.
#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include "engine/data/text/text_tokens.h"
#include "tests/data/text/bpe_files.h"

namespace spire {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

const char* const gpt2_regex =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

json byte_level(bool use_regex = true) {
  return {{"type", "ByteLevel"},
          {"add_prefix_space", false},
          {"trim_offsets", true},
          {"use_regex", use_regex}};
}

json added_token(const std::string& content, int id) {
  return {{"id", id},        {"content", content},  {"single_word", false}, {"lstrip", false},
          {"rstrip", false}, {"normalized", false}, {"special", true}};
}

json split(const std::string& regex) {
  return {{"type", "Split"},
          {"pattern", {{"Regex", regex}}},
          {"behavior", "Isolated"},
          {"invert", false}};
}

json sequence(std::vector<json> steps) {
  return {{"type", "Sequence"}, {"pretokenizers", std::move(steps)}};
}

// The bytes, "bc" 256, "ab" 257, "abc" 258 and <|endoftext|> 259.
json good_tokenizer() {
  json vocabulary = json::parse(vocabulary_json({"bc", "ab", "abc", "<|endoftext|>"}));
  return {{"version", "1.0"},
          {"truncation", nullptr},
          {"padding", nullptr},
          {"added_tokens", json::array({added_token("<|endoftext|>", 259)})},
          {"normalizer", nullptr},
          {"pre_tokenizer", byte_level()},
          {"post_processor", byte_level()},
          {"decoder", byte_level()},
          {"model",
           {{"type", "BPE"},
            {"dropout", nullptr},
            {"unk_token", nullptr},
            {"continuing_subword_prefix", ""},
            {"end_of_word_suffix", ""},
            {"fuse_unk", false},
            {"byte_fallback", false},
            {"ignore_merges", false},
            {"vocab", vocabulary},
            {"merges", {"b c", "a b", "a bc"}}}}};
}

using Change = std::function<void(json&)>;

class TokenizerJson : public testing::Test {
 protected:
  void SetUp() override {
    write_bpe(folder_ / "two", "#version: 0.2\nb c\na b\na bc\n",
              {"bc", "ab", "abc", "<|endoftext|>"});
  }

  std::filesystem::path write(const Change& change, const std::string& name = "tokenizer.json") {
    json tokenizer = good_tokenizer();
    change(tokenizer);
    write_text(folder_ / name, tokenizer.dump());
    return folder_ / name;
  }
  std::unique_ptr<Vocabulary> read(const Change& change) { return read_bpe(write(change)); }

  Folder folder_;
};

const std::vector<std::string> texts = {
    "abc ab bc cab", "It's  what\n\n they've\tsaid: abc<|endoftext|><|endoftext|>ab <|endoftext",
    "na\xc3\xafve \xe4\xbd\xa0\xe5\xa5\xbd \xf0\x9f\x98\x80 1234 \r\n  ", ""};

TEST_F(TokenizerJson, GivesTheIdsOfTheTwoFiles) {
  auto expected = read_bpe(folder_ / "two");
  std::vector<Change> forms = {
      [](json&) {},
      [](json& t) {
        json pairs = json::array();
        for (auto [left, right] : {std::pair("b", "c"), {"a", "b"}, {"a", "bc"}})
          pairs.push_back(json::array({left, right}));
        t["model"]["merges"] = pairs;
      },
      [](json& t) { t["model"]["merges"].insert(t["model"]["merges"].begin(), "#version: 0.2"); },
      [](json& t) { t["model"].erase("type"); },
      [](json& t) { t["model"]["vocab"].erase("<|endoftext|>"); },
      [](json& t) { t.erase("added_tokens"); },
      [](json& t) { t["added_tokens"][0]["normalized"] = true; },
      [](json& t) {
        t["truncation"] = {{"max_length", 4}};
      },
      [](json& t) { t.erase("post_processor"); },
      [](json& t) { t["pre_tokenizer"] = sequence({byte_level()}); },
      [](json& t) {
        t["pre_tokenizer"] = sequence({split(gpt2_regex), byte_level(false)});
      },
      [](json& t) {
        t["pre_tokenizer"] = sequence({split(gpt2_regex), byte_level(true)});
      },
  };
  for (size_t form = 0; form < forms.size(); ++form) {
    auto vocabulary = read(forms[form]);
    ASSERT_EQ(vocabulary->size(), 260) << form;
    for (const std::string& text : texts) {
      EXPECT_EQ(vocabulary->encode(text), expected->encode(text)) << form << ": " << text;
      EXPECT_EQ(vocabulary->decode(vocabulary->encode(text)), text) << form;
    }
  }
}

// tests/data/bpe was learnt by the library tokenizers, which also gave its ids.
TEST_F(TokenizerJson, EqualsOtherLibraries) {
  std::filesystem::path bpe = DATA_FOLDER "/bpe";
  std::ifstream tokens(bpe / "vocab.json"), merges(bpe / "merges.txt"), ids(bpe / "ids.json");
  json list = json::array();
  for (std::string line; std::getline(merges, line);)
    if (!line.empty()) list.push_back(line);
  auto vocabulary = read([&](json& t) {
    t["model"]["vocab"] = json::parse(tokens);
    t["model"]["merges"] = list;
    t["added_tokens"][0]["id"] = 700;
  });
  for (const auto& one : json::parse(ids))
    EXPECT_EQ(vocabulary->encode(one["text"].get<std::string>()),
              one["ids"].get<std::vector<int32_t>>());
}

// Leftmost, then longest; those that are not normalized before the others; whatever their bytes.
TEST_F(TokenizerJson, AddedTokensAreFoundFirst) {
  auto vocabulary = read([](json& t) {
    t["added_tokens"].push_back(added_token("<x>", 260));
    t["added_tokens"].push_back(added_token("<x>y", 261));
    t["added_tokens"].push_back(added_token("b<", 262));
    t["added_tokens"].back()["normalized"] = true;
    t["added_tokens"].push_back(added_token("\xe4\xbd\xa0", 263));
  });
  EXPECT_EQ(vocabulary->size(), 264);
  EXPECT_THAT(vocabulary->encode("ab<x>yab<x>"), ElementsAre(257, 261, 257, 260));
  EXPECT_THAT(vocabulary->encode("ab<"), ElementsAre('a', 262));
  EXPECT_THAT(vocabulary->encode("a\xe4\xbd\xa0 "), ElementsAre('a', 263, ' '));
  for (const char* text : {"ab<x>yab<x>", "ab<", "a\xe4\xbd\xa0 "})
    EXPECT_EQ(vocabulary->decode(vocabulary->encode(text)), text);
}

TEST_F(TokenizerJson, IsFoundAsFileInAFolderAndByAuto) {
  write([](json&) {}, "tokenizer.json");
  EXPECT_EQ(read_bpe(folder_.path())->size(), 260);
  auto named = make_vocabulary("gpt2:" + (folder_ / "tokenizer.json").string());
  EXPECT_EQ(named->to_text(), "gpt2:" + (folder_ / "tokenizer.json").string());
  std::filesystem::create_directories(folder_ / "gpt2");
  write([](json&) {}, "gpt2/tokenizer.json");
  ASSERT_EQ(setenv("SPIRE_DATA", folder_.path().c_str(), 1), 0);
  EXPECT_EQ(find_bpe("auto"), folder_ / "gpt2");
  ASSERT_EQ(unsetenv("SPIRE_DATA"), 0);
  EXPECT_THAT(message_of(Category::data, [&] { read_bpe(folder_ / "none"); }),
              HasAll((folder_ / "none").string(), "no such file or folder", "bpe_path"));
}

TEST_F(TokenizerJson, MustAgreeWithTheFilesBesideIt) {
  write([](json&) {}, "two/tokenizer.json");
  EXPECT_EQ(read_bpe(folder_ / "two")->size(), 260);
  auto refusal = [&](const Change& change) {
    write(change, "two/tokenizer.json");
    return message_of(Category::data, [&] { read_bpe(folder_ / "two"); });
  };
  EXPECT_THAT(refusal([](json& t) { t["added_tokens"].push_back(added_token("<x>", 260)); }),
              HasAll("encoder.json beside it: 261 and 260 tokens",
                     (folder_ / "two/tokenizer.json").string()));
  EXPECT_THAT(refusal([](json& t) {
                t["model"]["vocab"]["a"] = static_cast<int>('b');
                t["model"]["vocab"]["b"] = static_cast<int>('a');
              }),
              HasSubstr("token "));
  EXPECT_THAT(refusal([](json& t) {
                t["model"]["merges"] = {"a b", "b c", "a bc"};
              }),
              HasSubstr("merges are not the same"));
  EXPECT_THAT(refusal([](json& t) { t["added_tokens"].push_back(added_token("abc", 258)); }),
              HasSubstr("special tokens are not the same"));
}

// Sets what a JSON pointer names.
Change set(const char* pointer, const json& value) {
  return [=](json& t) { t[json::json_pointer(pointer)] = value; };
}

struct Refused {
  Change change;
  const char* says;
};

const std::vector<Refused> all_refused = {
    {[](json& t) { t = json::array({1}); }, "is not a JSON object"},
    {[](json& t) { t.erase("model"); }, "no tokenizer.json"},
    {set("/model/type", "WordPiece"), "model.type: \"WordPiece\" is not"},
    {set("/model/byte_fallback", true), "model.byte_fallback: true"},
    {set("/model/ignore_merges", true), "model.ignore_merges: true"},
    {set("/model/dropout", 0.1), "model.dropout: 0.1"},
    {set("/model/end_of_word_suffix", "</w>"), "end_of_word_suffix: \"</w>\""},
    {set("/model/continuing_subword_prefix", "#"), "subword_prefix: \"#\""},
    {set("/model/later", 7), "model.later: 7 is not supported"},
    {set("/later", {{"type", "X"}}), "later: X is not supported"},
    {set("/normalizer", {{"type", "NFC"}}), "normalizer: NFC is not"},
    {set("/pre_tokenizer", nullptr), "pre_tokenizer: null is not"},
    {set("/pre_tokenizer", {{"type", "Metaspace"}}), "Metaspace"},
    {set("/pre_tokenizer/add_prefix_space", true), "pre_tokenizer.add_prefix_space: true"},
    {set("/pre_tokenizer/use_regex", false), "pre_tokenizer.use_regex: false"},
    {set("/pre_tokenizer", sequence({})), "ByteLevel at its end"},
    {set("/pre_tokenizer", sequence({split(gpt2_regex)})), "pretokenizers[0]: Split"},
    {set("/pre_tokenizer", sequence({split("\\d"), byte_level(false)})),
     R"(pretokenizers[0].pattern: "\\d" is not supported)"},
    {set("/pre_tokenizer", sequence({json({{"type", "Digits"}}), byte_level()})),
     "pretokenizers[0]: Digits"},
    {[](json& t) {
       t["pre_tokenizer"] = sequence({split(gpt2_regex), byte_level(false)});
       t["pre_tokenizer"]["pretokenizers"][0]["behavior"] = "MergedWithNext";
     },
     "pretokenizers[0].behavior: \"MergedWithNext\""},
    {set("/post_processor", {{"type", "TemplateProcessing"}}),
     "post_processor: TemplateProcessing is not"},
    {set("/decoder", {{"type", "WordPiece"}}), "decoder: WordPiece is not"},
    {set("/added_tokens/0/lstrip", true), "added_tokens[0].lstrip: true"},
    {set("/added_tokens/0/single_word", true), "added_tokens[0].single_word: true"},
    {set("/added_tokens/0/content", ""), "has no content and id"},
    {set("/added_tokens/0/id", 1), "has id 1, but 259 in model.vocab"},
    {set("/added_tokens/1", added_token("<x>", 300)),
     "token '<x>': id 300, expected each of 0 to 260 once"},
    {set("/added_tokens/1", added_token("<|endoftext|>", 259)),
     "added_tokens[1]: '<|endoftext|>' is given twice"},
    {set("/added_tokens/1", added_token("<a b>", 260)),
     "added_tokens[1]: '<a b>', with a blank within"},
    {set("/added_tokens/1", added_token("\xc4\xa0", 32)), "which model.vocab has for other bytes"},
    {set("/added_tokens", {{"a", 1}}), "added_tokens: is not a list"},
    {set("/model/vocab", json::array()), "model.vocab: is not an object"},
    {[](json& t) { t["model"].erase("merges"); }, "model.merges: is not"},
    {set("/model/vocab/abc", 257), "of 0 to 259 once"},
    {[](json& t) {
       t["model"]["vocab"].erase("Z");
       t["model"]["vocab"]["ZZ"] = static_cast<int>('Z');
     },
     "for byte 90"},
    {set("/model/merges/2", "abc"), "model.merges[2]: expected two tokens"},
    {set("/model/merges/2", json::array({"a", "b", "c"})), "model.merges[2]: expected"},
    {set("/model/merges/1", "a c"), "model.merges[1]: 'ac' is not"},
    {set("/model/merges/2", "b c"), "model.merges[2]: this merge is"},
};

TEST_F(TokenizerJson, WhatItCannotGiveIsRefused) {
  for (const Refused& refused : all_refused) {
    std::filesystem::path file = write(refused.change);
    EXPECT_THAT(message_of(Category::data, [&] { read_bpe(folder_.path()); }),
                HasAll(file.string(), refused.says));
  }
}

}  // namespace
}  // namespace spire
