#include "engine/data/text/jsonl.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/data/text/text_tokens.h"
#include "tests/data/test_files.h"
#include "tests/data/text/bpe_files.h"

namespace spire {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

class JsonlTest : public testing::Test {
 protected:
  std::filesystem::path add(const std::string& name, const std::string& text) {
    write_text(folder_ / name, text);
    return folder_ / name;
  }
  std::vector<std::string> documents(const std::filesystem::path& path,
                                     const std::string& field = "text") {
    std::vector<std::string> all;
    for_each_json_text(path, field, [&](const std::string& text) { all.push_back(text); });
    return all;
  }
  std::string refusal(const std::string& lines) {
    auto path = add("bad.jsonl", lines);
    return message_of(Category::data, [&] { documents(path); });
  }

  Folder folder_;
};

TEST_F(JsonlTest, AnObjectALineIsADocument) {
  auto path = add("a.jsonl",
                  "{\"text\": \"one\\ntwo\", \"id\": 1}\r\n\n  \n{\"id\": 2, \"text\": \"\"}\n"
                  "{\"text\": \"\\u00e4 \\ud83d\\ude00\"}");
  EXPECT_THAT(documents(path), ElementsAre("one\ntwo", "\xc3\xa4 \xf0\x9f\x98\x80"));
  auto other = add("b.jsonl", "{\"body\": \"x\", \"text\": 3}\n");
  EXPECT_THAT(documents(other, "body"), ElementsAre("x"));
}

TEST_F(JsonlTest, FilesMayBeGzip) {
  std::string line = "{\"text\": \"packed\"}\n";
  write_file(folder_ / "a.jsonl.gz", gzip({line.begin(), line.end()}));
  EXPECT_TRUE(is_jsonl("x/a.jsonl.gz"));
  EXPECT_TRUE(is_jsonl("a.jsonl"));
  EXPECT_FALSE(is_jsonl("a.json"));
  EXPECT_FALSE(is_jsonl("jsonl"));
  EXPECT_THAT(documents(folder_ / "a.jsonl.gz"), ElementsAre("packed"));
}

// What Python's json.dumps writes: NaN, numbers beyond a double, halves of surrogate pairs.
TEST_F(JsonlTest, MembersThatAreNotReadDoNotMatter) {
  auto path = add("a.jsonl",
                  "\xef\xbb\xbf{\"score\": NaN, \"text\": \"a\"}\n"
                  "{\"x\": [1e999, -Infinity, {\"y\": Infinity}], \"text\": \"b\"}\n"
                  "{\"text\": \"c\", \"x\": \"\\ud83d\", \"z\": \"\\\"}\"}\n"
                  "{\"text\": \"no\", \"text\": \"d\", \"e\": {}}\n");
  EXPECT_THAT(documents(path), ElementsAre("a", "b", "c", "d"));
  EXPECT_THAT(refusal("{\"text\": 1e999}"), HasSubstr("bad.jsonl:1: its \"text\" is number, not"));
  EXPECT_THAT(refusal("{\"text\": NaN}"), HasSubstr("bad.jsonl:1: its \"text\" is number, not"));
  for (const char* broken :
       {"{\"text\": \"a\", \"x\": nan}", "{\"text\": \"a\" \"b\"}", "{\"text\": \"a\"} {}",
        "{\"text\": \"a\", \"x\": [}", "{\"x\": 1e999"})
    EXPECT_THAT(refusal(broken), HasSubstr("bad.jsonl:1: is no JSON")) << broken;
  // The fault is what the line must not have.
  EXPECT_THAT(refusal("{\"score\": NaN, \"x\": -Infinity, \"text\": \"a\", oops}"),
              HasAll("is no JSON: parse error at line 1, column 45", "'\"a\", o'"));
}

TEST_F(JsonlTest, TheTextMayBeWithinObjects) {
  auto path =
      add("a.jsonl", "{\"data\": {\"text\": \"a\", \"b.c\": {\"d\": \"e\"}}, \"data.x\": \"f\"}\n");
  EXPECT_THAT(documents(path, "data.text"), ElementsAre("a"));
  EXPECT_THAT(documents(path, "data.b.c.d"), ElementsAre("e"));
  EXPECT_THAT(documents(path, "data.x"), ElementsAre("f"));
  EXPECT_THAT(message_of(Category::data, [&] { documents(path, "data.y"); }),
              HasSubstr("a.jsonl:1: has no \"data.y\", but data, data.x"));
}

TEST_F(JsonlTest, ChatsNeedATemplate) {
  std::string chat = "{\"messages\": [{\"role\": \"user\", \"content\": \"hello\"}]}";
  EXPECT_THAT(refusal(chat), HasAll("bad.jsonl:1: its \"messages\" is a chat of several",
                                    "tokenizer.apply_chat_template"));
  auto path = add("chat.jsonl", chat);
  EXPECT_THAT(message_of(Category::data, [&] { documents(path, "messages"); }),
              HasSubstr("is a chat of several messages"));
}

TEST_F(JsonlTest, BrokenLinesAreSkippedByOnError) {
  DataConfig config;
  config.name = "tokens";
  config.tokens.length = 4;
  config.on_error = DataConfig::OnError::skip;
  std::string good = "{\"text\": \"a text of some length, which is enough for windows\"}\n";
  config.tokens.text = {
      add("a.jsonl", good + "{\"text\": 1}\n" + good + "{oops\n" + good).string()};
  for (auto documents : {TokensConfig::Documents::joined, TokensConfig::Documents::packed}) {
    config.tokens.documents = documents;
    config.tokens.val_share = 0.4;
    EXPECT_THAT(open_dataset(config, {}).notes,
                ElementsAre(HasAll("2 broken documents left out; the first: ",
                                   "a.jsonl:2: its \"text\" is number")));
  }
  add("a.jsonl", "{oops\n");
  EXPECT_THAT(open_refusal(config),
              HasSubstr("is empty without its 1 broken document, of which the first is: "));
}

TEST_F(JsonlTest, ErrorsNameFileAndLine) {
  std::string good = "{\"text\": \"a\"}\n";
  EXPECT_THAT(refusal(good + "{\"text\": \"a\n"),
              HasAll("bad.jsonl:2: is no JSON: parse error", "write an object a line"));
  EXPECT_THAT(refusal(good + good + "[1]"), HasSubstr("bad.jsonl:3: is array, not an object"));
  EXPECT_THAT(refusal("{\"title\": \"a\", \"body\": \"b\"}"),
              HasSubstr("bad.jsonl:1: has no \"text\", but body, title; set data.tokens.field"));
  EXPECT_THAT(refusal("{}"), HasSubstr("but no keys at all"));
  EXPECT_THAT(refusal("\n{\"text\": 3}"), HasSubstr("bad.jsonl:2: its \"text\" is number, not"));
  EXPECT_THAT(refusal("{\"text\": \"\xff\"}"), HasSubstr("bad.jsonl:1: the text is not UTF-8"));
  EXPECT_THAT(refusal("{\"text\": \"\\ud800\"}"), HasSubstr("bad.jsonl:1: is no JSON"));
}

// Each document begins with the separator: U+0003, or <|endoftext|> of GPT-2, which is a token.
TEST_F(JsonlTest, DocumentsOfAllVocabulariesAreJoinedBySeparators) {
  add("1.jsonl", "{\"text\": \"ab\"}\n{\"text\": \"c\"}\n");
  add("2.jsonl", "{\"text\": \"d\"}\n");
  TokensConfig config;
  config.text = {folder_.path().string()};
  EXPECT_THAT(read_text_tokens(config).ids, ElementsAre(3, 'a', 'b', 3, 'c', 3, 'd'));
  config.vocabulary = TokensConfig::Vocabulary::characters;
  TextTokens characters = read_text_tokens(config);
  EXPECT_EQ(characters.vocabulary->size(), 5);
  EXPECT_THAT(characters.ids, ElementsAre(0, 1, 2, 0, 3, 0, 4));
  EXPECT_THAT(characters.files, ElementsAre(folder_ / "1.jsonl", folder_ / "2.jsonl"));
}

// Files that hold several documents, by their names and in folders.

TEST(Documents, AreKnownByTheNamesOfFiles) {
  for (const char* name :
       {"a.jsonl", "a.jsonl.gz", "x/a.parquet", "a.arrow", "a.feather", "a.ipc.gz"})
    EXPECT_TRUE(holds_documents(name)) << name;
  for (const char* name : {"a.txt", "a.json", "parquet"})
    EXPECT_FALSE(holds_documents(name)) << name;
}

TEST(Documents, OfAFolderAreSorted) {
  Folder folder, texts, empty;
  for (const char* name : {"b.jsonl", "a.jsonl.gz", "c.txt", "a.parquet"})
    write_text(folder / name, "");
  EXPECT_THAT(document_files(folder.path()),
              ElementsAre(folder / "a.jsonl.gz", folder / "a.parquet", folder / "b.jsonl"));
  for (const char* name : {"b.txt", "a.md", ".c.txt", "d.png"}) write_text(texts / name, "");
  EXPECT_THAT(document_files(texts.path()), ElementsAre(texts / "a.md", texts / "b.txt"));
  EXPECT_THAT(message_of(Category::data, [&] { document_files(empty.path()); }),
              AllOf(StartsWith(empty.path().string()), HasSubstr("has no *.jsonl")));
}

}  // namespace
}  // namespace spire
