// Texts of a small model of packed documents, written alone and together.
#include <atomic>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <spire/spire.h>

#include "tests/base/message_of.h"
#include "tests/data/test_files.h"

namespace spire {
namespace {

using testing::HasSubstr;

// A model that is trained once for all tests: its documents are 3 to 11 letters a.
class DocumentsRun : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new Folder;
    std::ofstream file(*folder_ / "all.jsonl");
    for (int i = 0; i < 40; ++i)
      file << R"({"text": ")" << std::string(static_cast<size_t>(3 + i % 9), 'a') << "\"}\n";
    file.close();
    RunConfig config =
        parse_config(
            {}, {"data.name=tokens", "data.tokens.text=" + (*folder_ / "all.jsonl").string(),
                 "data.tokens.vocabulary=characters", "data.tokens.documents=packed",
                 "data.tokens.length=16", "data.val.share=0.2", "model.name=llama",
                 "model.blocks=1", "model.width=16", "model.heads=2", "batch_size=3", "towers=1",
                 "tower_threads=1", "devices=cpu", "steps=30", "checkpoint.every_epochs=1",
                 "output=" + (*folder_ / "run").string()})
            .config;
    auto files = file_observer(config, [](std::string_view text) { ADD_FAILURE() << text; });
    train(config, {}, *files);
  }
  static void TearDownTestSuite() { delete std::exchange(folder_, nullptr); }

  static TextGenerator generator(TextOptions options) {
    options.device = "cpu";
    return TextGenerator(
        find_checkpoint((*folder_ / "run").string(), "", CheckpointChoice::newest, {}), options);
  }

 private:
  static Folder* folder_;
};
Folder* DocumentsRun::folder_ = nullptr;

TEST_F(DocumentsRun, WritesTextsTogetherAsAlone) {
  TextGenerator alone = generator({.tokens = 40}), together = generator({.tokens = 40, .texts = 2});
  std::vector<std::vector<int32_t>> prompts;
  for (const char* text : {"a", "", "aaaaa"}) prompts.push_back(together.encode(text));
  std::vector<std::string> parts(prompts.size());
  std::vector<int> ends(prompts.size());
  TextReport report = {.part =
                           [&](size_t prompt, const std::string& part) {
                             EXPECT_FALSE(part.empty());
                             EXPECT_EQ(ends[prompt], 0);
                             parts[prompt] += part;
                           },
                       .end =
                           [&](size_t prompt, const GeneratedText& text) {
                             ++ends[prompt];
                             EXPECT_EQ(text.text, parts[prompt]);
                           }};
  std::vector<GeneratedText> made = together.generate(prompts, report);
  ASSERT_EQ(made.size(), prompts.size());
  for (size_t i = 0; i < prompts.size(); ++i) {
    std::string shown;
    GeneratedText single =
        alone.generate(prompts[i], [&](const std::string& part) { shown += part; });
    EXPECT_EQ(made[i].text, single.text);
    EXPECT_EQ(made[i].tokens, single.tokens);
    EXPECT_EQ(made[i].stopped, single.stopped);
    EXPECT_EQ(shown, single.text);
    EXPECT_EQ(ends[i], 1);
    // The separator, which is drawn and not shown, ends a text; or there are 40 letters.
    EXPECT_EQ(made[i].tokens, std::ssize(made[i].text) + (made[i].stopped ? 1 : 0));
    EXPECT_TRUE(made[i].stopped || made[i].tokens == 40);
  }
  EXPECT_TRUE(together.generate(std::span<const std::vector<int32_t>>()).empty());
}

TEST_F(DocumentsRun, BeginsPromptsWithTheSeparator) {
  TextGenerator texts = generator({.tokens = 1});
  ASSERT_EQ(texts.encode("").size(), 1u);
  EXPECT_EQ(texts.encode("aa").size(), 3u);
  EXPECT_EQ(texts.encode("aa")[0], texts.encode("")[0]);
  EXPECT_GE(texts.context(), 16);
  int64_t left_out = 0;
  EXPECT_EQ(texts.known_part("a?a\xff", left_out), "aa");
  EXPECT_EQ(left_out, 2);
  EXPECT_THAT(message_of(Category::data, [&] { texts.encode("a?"); }), HasSubstr("U+003F"));
}

TEST_F(DocumentsRun, EndsBeforeAStopWordAndByTheFlag) {
  TextGenerator texts = generator({.tokens = 40, .temperature = 0, .stop = {"a"}});
  GeneratedText text = texts.generate(texts.encode("a"));
  EXPECT_TRUE(text.stopped);
  EXPECT_EQ(text.text, "");
  std::atomic<bool> stop = true;
  EXPECT_THAT(
      message_of(Category::interrupted, [&] { texts.generate(texts.encode("a"), {}, &stop); }),
      HasSubstr("stopped"));
}

TEST_F(DocumentsRun, RefusesOptionsAndPrompts) {
  EXPECT_THAT(message_of(Category::config, [] { generator({.texts = 0}); }), HasSubstr("texts"));
  EXPECT_THAT(message_of(Category::config, [] { generator({.tokens = 0}); }), HasSubstr("tokens"));
  EXPECT_THAT(message_of(Category::config, [] { generator({.stop = {""}}); }), HasSubstr("stop"));
  TextGenerator texts = generator({.texts = 2});
  std::vector<std::vector<int32_t>> empty = {texts.encode("a"), {}}, unknown = {{99}};
  EXPECT_THAT(message_of(Category::config, [&] { texts.generate(empty); }), HasSubstr("empty"));
  EXPECT_THAT(message_of(Category::data, [&] { texts.generate(unknown); }), HasSubstr("99"));
}

}  // namespace
}  // namespace spire
