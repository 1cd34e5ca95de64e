// trainer init writes a config that passes --check; trainer models lists sizes; trainer lr-find
// finds the same rates on any devices.
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tools/program.h"
#include "tests/tools/small_data.h"

namespace spire {
namespace {

using testing::HasSubstr;
using testing::Not;

// Prints a config for the data, and trains two steps with it.
std::string good_config(const TemporaryFolder& folder, const std::vector<std::string>& words) {
  std::vector<std::string> all = {"init"};
  all.insert(all.end(), words.begin(), words.end());
  Output made = trainer(all);
  EXPECT_EQ(made.code, 0) << made.err;
  std::string file = folder.write("run.yaml", made.out);
  Output checked = trainer({"--config", file, "--check"});
  EXPECT_EQ(checked.code, 0) << checked.err << made.out;
  EXPECT_EQ(checked.err, "") << made.out;
  Output trained = trainer({"--config", file, "--dry-run", "2", "devices=cpu", "-q"});
  EXPECT_EQ(trained.code, 0) << trained.err;
  return made.out;
}

std::string table(int rows, const char* header, bool words) {
  std::string text = header;
  for (int i = 0; i < rows; ++i)
    text += words ? std::to_string(i % 7) + "," + std::to_string(i % 5) + "," +
                        (i % 7 > 3 ? "high\n" : "low\n")
                  : std::to_string(i % 7) + "," + std::to_string(i % 5) + "," +
                        std::to_string(i % 7 * 1.5) + "\n";
  return text;
}

TEST(Init, WritesAConfigForATable) {
  TemporaryFolder folder;
  std::string file = folder.write("flowers.csv", table(200, "a,b,kind\n", true));
  std::string config = good_config(folder, {"--data", file});
  for (const char* part : {"# a table: ", "classes", "name: mlp", "few samples: few weights",
                           "name: csv", "flowers.csv", "name: adam", "trainer lr-find"})
    EXPECT_THAT(config, HasSubstr(part));
  EXPECT_THAT(config, HasSubstr("runs/flowers"));
}

TEST(Init, WritesAConfigForNumbersToPredict) {
  TemporaryFolder folder;
  std::string file = folder.write("prices.csv", table(200, "a,b,price\n", false));
  EXPECT_THAT(good_config(folder, {"--data", file, "--model", "linear"}),
              HasSubstr("name: linear"));
}

TEST(Init, WritesAConfigForImages) {
  SmallData data;
  std::string config = good_config(data.folder, {"--data", data.folder / ""});
  EXPECT_THAT(config, HasSubstr("# IDX files: "));
  EXPECT_THAT(config, HasSubstr("name: mlp"));  // of 8 x 8 pixels
  EXPECT_THAT(config, HasSubstr("name: idx"));
}

TEST(Init, WritesAConfigForText) {
  TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 1500; ++i) text += "line " + std::to_string(i * i) + "\n";
  std::string config = good_config(folder, {"--data", folder.write("story.txt", text)});
  for (const char* part : {"# text: ", "name: gpt", "story.txt", "length: 128", "name: adamw"})
    EXPECT_THAT(config, HasSubstr(part));
}

TEST(Init, WritesAConfigForDocuments) {
  TemporaryFolder folder;
  std::string lines;
  for (int i = 0; i < 500; ++i)
    lines += "{\"text\": \"document " + std::to_string(i * i) + " of numbers\"}\n";
  std::string config = good_config(folder, {"--data", folder.write("all.jsonl", lines)});
  for (const char* part : {"# text: ", "name: gpt", "all.jsonl", "documents: packed"})
    EXPECT_THAT(config, HasSubstr(part));
}

TEST(Init, SaysWhatItRecognizes) {
  TemporaryFolder folder;
  Output output = trainer({"init", "--data", folder.write("data.xyz", "?")});
  EXPECT_EQ(output.code, 2);
  EXPECT_THAT(output.last_error_line(),
              HasSubstr("its format is not recognized; known are a table"));
  output = trainer({"init", "--data", folder / "none"});
  EXPECT_EQ(output.code, 2);
  EXPECT_THAT(output.last_error_line(), HasSubstr("none: there is no such file or folder"));
  EXPECT_THAT(trainer({"init"}).last_error_line(), HasSubstr("--data is required"));
  output = trainer({"init", "--data", folder / "x", "--model", "resnett"});
  EXPECT_THAT(output.last_error_line(), HasSubstr("resnett not in {auto,"));
}

TEST(Models, AreListedWithKeysAndParameters) {
  Output output = trainer({"models"});
  EXPECT_EQ(output.code, 0) << output.err;
  EXPECT_EQ(output.err, "");
  EXPECT_THAT(output.out, testing::ContainsRegex("resnet +depth=20 +images \\(32, 32, 3\\)"));
  EXPECT_THAT(output.out, testing::ContainsRegex("depth=50 +images [^\n]+ 25 557 032\n"));
  EXPECT_THAT(output.out, testing::ContainsRegex("size=gpt2 +tokens [^\n]+ 124 439 808\n"));
  EXPECT_THAT(output.out, testing::ContainsRegex("cnn +hidden, channels"));
  EXPECT_THAT(output.out, HasSubstr("layers: a list of layers"));
}

struct Found {
  Output output;
  std::string csv, page;
};

Found find_rate(const SmallData& data, const std::string& name,
                const std::vector<std::string>& more) {
  std::vector<std::string> words = data.run(name, {"towers=2", "batch_size=16"});
  words.insert(words.begin(), "lr-find");
  words.push_back("--to=" + data.output(name));
  words.insert(words.end(), more.begin(), more.end());
  Output output = trainer(words);
  return {output, content_of(data.output(name) + "/lr_find.csv"),
          content_of(data.output(name) + "/lr_find.html")};
}

TEST(LrFind, SuggestsTheSameRateOnAnyDevices) {
  SmallData data;
  Found one = find_rate(data, "one", {"--steps=60", "--low=1e-4", "--high=10"});
  EXPECT_EQ(one.output.code, 0) << one.output.err;
  EXPECT_THAT(one.output.out, testing::ContainsRegex("suggested +optimizer.lr=[0-9.e-]+, a tenth"));
  EXPECT_THAT(one.csv, testing::StartsWith("step,lr,loss,smoothed\n1,0.0001,"));
  EXPECT_GT(std::count(one.csv.begin(), one.csv.end(), '\n'), 30);
  EXPECT_THAT(one.page, HasSubstr("Loss over the learning rate"));
  Found two = find_rate(data, "two", {"--steps=60", "--low=1e-4", "--high=10", "devices=2xcpu"});
  EXPECT_EQ(two.csv, one.csv);
  EXPECT_FALSE(std::filesystem::exists(data.output("one") + "/checkpoints"));
}

// A rate that cannot work ends the test, not the command.
TEST(LrFind, EndsEarlyWhereTheLossBlowsUp) {
  SmallData data;
  Found found =
      find_rate(data, "run", {"--steps=40", "--low=0.01", "--high=1e12", "loss.name=mse"});
  EXPECT_EQ(found.output.code, 0) << found.output.err;
  EXPECT_THAT(found.output.out, HasSubstr("ended early: "));
  EXPECT_LT(std::count(found.csv.begin(), found.csv.end(), '\n'), 41);
}

TEST(LrFind, SaysWhereNoRateWorks) {
  SmallData data;
  Found found = find_rate(data, "run", {"--steps=3", "--low=1e6", "--high=1e7"});
  EXPECT_EQ(found.output.code, 0) << found.output.err;
  EXPECT_THAT(found.output.out, HasSubstr("no rate is suggested: the smoothed loss never fell"));
  found = find_rate(data, "run", {"--low=1", "--high=0.1"});
  EXPECT_EQ(found.output.code, 2);
  EXPECT_THAT(found.output.last_error_line(), HasSubstr("from a low rate to a higher one"));
}

}  // namespace
}  // namespace spire
