// Paths and names that need care: ~ at the head of a path means the home folder, and no output has
// the control characters of names, paths and data.
#include <algorithm>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/base/set_variable.h"
#include "tests/tools/program.h"

namespace spire {
namespace {

using testing::HasSubstr;
using testing::Not;

class HomePaths : public testing::Test {
 protected:
  WorkFolder folder_;
  std::string home_ = folder_ / "home";
  SetVariable variable_{"HOME", home_};
};

TEST_F(HomePaths, ARunIsWrittenThere) {
  std::filesystem::create_directories(home_);
  folder_.write("home/run.yaml",
                "data: {name: synthetic, synthetic: {kind: features, shape: [8], samples: 64}}\n"
                "model: {name: mlp}\ndevices: cpu\nbatch_size: 64\nsteps: 1\noutput: ~/runs/a\n");
  Output output = expect_success(trainer({"--config=~/run.yaml"}));
  EXPECT_TRUE(std::filesystem::exists(home_ + "/runs/a/summary.json"));
  EXPECT_EQ(trainer({"--config=~/run.yaml", "--output=~/runs/b"}).code, 0);
  EXPECT_TRUE(std::filesystem::exists(home_ + "/runs/b/summary.json"));
  Output page = expect_success(trainer({"report", "~/runs/a", "--to=~/page.html"}));
  EXPECT_TRUE(std::filesystem::exists(home_ + "/page.html"));
  EXPECT_FALSE(std::filesystem::exists("~"));
}

TEST_F(HomePaths, EveryOptionThatIsAPathMeansIt) {
  for (const Words& words :
       {Words{"--config=~/none"}, Words{"--resume=~/none"}, Words{"eval", "--checkpoint=~/none"},
        Words{"eval", "~/none"}, Words{"predict", "--checkpoint=~/none"},
        Words{"export", "--checkpoint=~/none", "--to=~/a.onnx"}, Words{"report", "~/none"},
        Words{"audit", "~/none"}, Words{"compare", "~/none", "~/none"},
        Words{"init", "--data=~/none"}, Words{"sweep", "--grid=~/none"},
        Words{"dataset", "inspect", "data.name=csv", "data.path=~/none"},
        Words{"bench", "--compare", "~/none.json", "~/none.json"}}) {
    Output output = trainer(words);
    EXPECT_NE(output.code, 0) << words[0];
    EXPECT_THAT(output.last_error_line(), testing::HasSubstr(home_ + "/none")) << words[0];
    EXPECT_THAT(output.last_error_line(), testing::Not(testing::HasSubstr("~"))) << words[0];
  }
}

TEST_F(HomePaths, TextsAreLeftAsTheyAre) {
  EXPECT_EQ(trainer({"predict", "--checkpoint", "none", "--prompt", "~/a", "--stop", "~"}).code, 5);
}

// Would change a window's title, go up a line and forge an error.
const std::string evil = "a\x1b]0;title\x07\x1b[1A\nerror[2]: forged";
const std::string shown = R"(a\x1b]0;title\x07\x1b[1A\x0aerror[2]: forged)";

void expect_plain(const Output& output, const Words& words) {
  for (const std::string& text : {output.out, output.err}) {
    bool plain = std::ranges::none_of(
        text, [](unsigned char c) { return (c < 0x20 && c != '\n') || c == 0x7f; });
    EXPECT_TRUE(plain) << words[0] << "\n" << text;
    EXPECT_THAT("\n" + text, Not(HasSubstr("\nerror[2]: forged"))) << words[0];
  }
}

TEST(ControlCharacters, OfPathsInErrors) {
  WorkFolder folder;
  std::string path = folder / evil;
  for (const Words& words :
       {Words{"--config", path}, Words{"data.name=csv", "data.path='" + path + "'", "--check"},
        Words{"--resume", path}, Words{"eval", "--checkpoint", path}, Words{"report", path},
        Words{"audit", path}, Words{"init", "--data", path}, Words{"--" + evil}, Words{evil + "=1"},
        Words{"seed=" + evil}, Words{"devices=[\"" + evil + "\"]"}}) {
    Output output = trainer(words);
    EXPECT_NE(output.code, 0) << words[0];
    expect_plain(output, words);
  }
  EXPECT_THAT(trainer({"report", path}).last_error_line(), HasSubstr(shown));
}

TEST(ControlCharacters, OfColumnsAndClassesInTablesAndMessages) {
  WorkFolder folder;
  std::string rows;
  for (int i = 0; i < 60; ++i)
    rows += std::to_string(i) + "," + std::to_string(i * 7 % 11) + ",\"" +
            (i % 2 == 0 ? evil : std::string("b")) + "\"\n";
  std::string file = folder.write("table.csv", "x,\"" + evil + "\",label\n" + rows);
  std::string run = folder / evil;
  Words data = {"data.name=csv", "data.path=" + file};
  Words train =
      Words{"train", "devices=cpu", "model.name=mlp", "steps=2", "batch_size=8", "--output", run} +
      data;
  Output trained = expect_success(trainer(train));
  EXPECT_THAT(trained.out, HasSubstr(shown));  // the run's folder
  expect_plain(trained, train);
  for (const Words& words :
       {Words{"dataset", "inspect"} + data, Words{"dataset", "verify"} + data,
        Words{"eval", "--checkpoint", run}, Words{"report", run}, Words{"audit", run},
        Words{"compare", run, run}, train, Words{"init", "--data", file}}) {
    Output output = trainer(words);
    expect_plain(output, words);
  }
  EXPECT_THAT(trainer(Words{"dataset", "inspect"} + data).out, HasSubstr(shown));
}

}  // namespace
}  // namespace spire
