// ~ at the head of a path, in configs and options.
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/base/set_variable.h"
#include "tests/tools/program.h"
#include "tests/tools/words.h"

namespace spire {
namespace {

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
  Output output = trainer({"--config=~/run.yaml"});
  EXPECT_EQ(output.code, 0) << output.err;
  EXPECT_TRUE(std::filesystem::exists(home_ + "/runs/a/summary.json"));
  EXPECT_EQ(trainer({"--config=~/run.yaml", "--output=~/runs/b"}).code, 0);
  EXPECT_TRUE(std::filesystem::exists(home_ + "/runs/b/summary.json"));
  Output page = trainer({"report", "~/runs/a", "--to=~/page.html"});
  EXPECT_EQ(page.code, 0) << page.err;
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

}  // namespace
}  // namespace spire
