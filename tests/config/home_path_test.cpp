// ~ at the head of a path.
#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pwd.h>
#include <unistd.h>

#include <spire/load_config.h>

#include "engine/config/schema.h"

namespace spire {
namespace {

class HomePath : public testing::Test {
 protected:
  HomePath() { setenv("HOME", "/home/of tests", 1); }
  ~HomePath() override { setenv("HOME", before_.c_str(), 1); }

 private:
  std::string before_ = std::getenv("HOME") != nullptr ? std::getenv("HOME") : "";
};

TEST_F(HomePath, IsReplacedAtTheHeadAlone) {
  EXPECT_EQ(expand_home("~"), "/home/of tests");
  EXPECT_EQ(expand_home("~/runs/a"), "/home/of tests/runs/a");
  EXPECT_EQ(expand_home("~/"), "/home/of tests/");
  for (const char* other : {"", "runs/~", "/~/a", "./~/a", "a~", " ~/a", "~no such user~/a"})
    EXPECT_EQ(expand_home(other), other);
}

TEST_F(HomePath, OfAnotherUserAndWithoutTheVariable) {
  const passwd* root = getpwuid(0);
  ASSERT_NE(root, nullptr);
  std::string name = root->pw_name, folder = root->pw_dir;
  EXPECT_EQ(expand_home("~" + name + "/a"), folder + "/a");
  EXPECT_EQ(expand_home("~" + name), folder);
  unsetenv("HOME");
  const passwd* own = getpwuid(getuid());
  std::string home = own != nullptr ? own->pw_dir : "~";
  EXPECT_EQ(expand_home("~/a"), home + "/a");
}

TEST_F(HomePath, StandsInEveryKeyThatIsAPath) {
  std::vector<std::string> paths;
  for (const Field& field : schema()) {
    if (!field.is_path) continue;
    paths.push_back(field.path);
    RunConfig defaults;
    bool list = std::holds_alternative<std::vector<std::string>*>(field.slot(defaults));
    RunConfig config = parse_config({}, {field.path + (list ? "=[~/a]" : "=~/a")}).config;
    Slot slot = field.slot(config);
    auto* const* one = std::get_if<std::string*>(&slot);
    EXPECT_EQ(one != nullptr ? **one : std::get<std::vector<std::string>*>(slot)->front(),
              "/home/of tests/a")
        << field.path;
  }
  EXPECT_THAT(paths,
              testing::IsSupersetOf({"data.path", "data.val.path", "data.tokens.text",
                                     "data.tokens.bpe_path", "data.npy.train.input", "distill.from",
                                     "init.from", "output", "cuda.autotune_cache"}));
}

TEST_F(HomePath, StandsInFilesAndInEachPathOfAList) {
  RunConfig config =
      parse_config({{"run.yaml", "output: ~/runs/a\ndata:\n  tokens: {text: [~/a.txt, b.txt]}\n"}},
                   {"data.name=tokens", "data.tokens.vocabulary=bytes"})
          .config;
  EXPECT_EQ(config.output, "/home/of tests/runs/a");
  EXPECT_EQ(config.data.tokens.text, (std::vector<std::string>{"/home/of tests/a.txt", "b.txt"}));
  EXPECT_THAT(to_yaml(config), testing::HasSubstr("/home/of tests/runs/a"));
}

}  // namespace
}  // namespace spire
