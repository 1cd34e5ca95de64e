// The run directory: what a run puts there, and what it leaves alone.
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/long_tests.h"
#include "tests/run/program/run_folder.h"

namespace spire {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

class Directory : public testing::Test {
 protected:
  Output run(const Words& more) { return trainer(folder.run("run", test_mlp + more)); }
  std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const auto& entry : fs::directory_iterator(folder / "run"))
      found.push_back(entry.path().filename());
    return found;
  }

  RunFolder folder;
};

TEST_F(Directory, HoldsConfigMetricsSummaryAndCheckpoints) {
  ASSERT_EQ(run({"steps=12"}).code, 0);
  EXPECT_THAT(names(), testing::UnorderedElementsAre("config.yaml", "metrics.jsonl", "audit.jsonl",
                                                     "summary.json", "checkpoints", ".spire_run"));
  EXPECT_EQ(folder.checkpoints("run"), (std::vector<int64_t>{10, 12}));
  EXPECT_EQ(curve(folder.metrics("run")).size(), 12u + 2u);  // steps; evaluations at 10 and 12
}

// The config that a run leaves is the run: it says towers and threads, which were chosen for it.
TEST_F(Directory, ItsConfigMakesTheSameRun) {
  std::string hash = printed_hash(run({"steps=12", "seed=11"}));
  std::string config = folder / "run/config.yaml";
  Output again = trainer({"--config", config, "--output", folder / "again"});
  ASSERT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(printed_hash(again), hash);
}

TEST_F(Directory, ADryRunWritesNothing) {
  Output output = run({"--dry-run", "3"});
  EXPECT_EQ(output.code, 0) << output.err;
  EXPECT_THAT(output.err, HasSubstr(" step 3/3 "));
  EXPECT_FALSE(fs::exists(folder / "run"));
  ASSERT_EQ(run({"steps=2"}).code, 0);
  EXPECT_EQ(run({"--dry-run", "3"}).code, 0);  // nor does it mind what is there
  EXPECT_EQ(folder.summary("run")["steps"], 2);
}

TEST_F(Directory, OverwriteBeginsAnewAndKeepsWhatIsNotOurs) {
  ASSERT_EQ(run({"steps=14", "seed=8"}).code, 0);
  std::ofstream(folder / "run/notes.txt") << "mine";
  Output output = run({"steps=12", "--overwrite"});
  ASSERT_EQ(output.code, 0) << output.err;
  EXPECT_EQ(folder.metrics("run").front()["step"], 1);
  expect_ascending(folder.metrics("run"));
  EXPECT_EQ(folder.checkpoints("run"), (std::vector<int64_t>{10, 12}));
  EXPECT_TRUE(fs::exists(folder / "run/notes.txt"));
}

// With a user's folders of the names that runs use.
TEST_F(Directory, NoWordDeletesWhatNoRunWrote) {
  fs::create_directories(folder / "run/samples");
  fs::create_directories(folder / "run/checkpoints");
  std::ofstream(folder / "run/samples/photo.txt") << "mine";
  for (const Words& more : {Words{}, Words{"--overwrite"}, Words{"--resume", "auto"}}) {
    Output output = run(Words{"steps=2"} + more);
    EXPECT_EQ(output.code, 2) << output.err;
    EXPECT_THAT(output.err, HasSubstr("output: "));
    EXPECT_TRUE(fs::exists(folder / "run/samples/photo.txt"));
    EXPECT_THAT(names(), testing::UnorderedElementsAre("samples", "checkpoints"));
  }
}

// Of two runs that begin together one trains and the other is refused; one that comes when the
// first has ended does what its words say. What is trained is what one alone trains.
TEST_F(Directory, OfTwoRunsBegunTogetherOneIsRefused) {
  std::string hash = printed_hash(run({"steps=12"}));
  const std::vector<Words> modes = {{}, {"--overwrite"}, {"--resume", "auto"}};
  const int meetings = long_tests() ? 100 : 9;
  for (int meeting = 0; meeting < meetings; ++meeting) {
    const Words& mode = modes[static_cast<size_t>(meeting) % modes.size()];
    SCOPED_TRACE(testing::PrintToString(mode));
    std::string name = "both" + std::to_string(meeting);
    Words words = folder.run(name, test_mlp + Words{"steps=12"} + mode);
    Program one(words), two(words);
    Output first = one.finish(), second = two.finish();
    if (first.code != 0) std::swap(first, second);
    ASSERT_EQ(first.code, 0) << first.err << second.err;
    EXPECT_EQ(printed_hash(first), hash);
    EXPECT_EQ(folder.summary(name)["parameter_hash"], hash);
    if (second.code == 0) {
      EXPECT_FALSE(mode.empty());
      EXPECT_EQ(printed_hash(second), hash);
    } else {
      EXPECT_EQ(second.code, 2) << second.err;
      EXPECT_THAT(second.err,
                  testing::AnyOf(HasSubstr("is in use by another run"), HasSubstr("is not empty")));
    }
  }
}

TEST_F(Directory, KeepsTheLastTheBestAndMilestones) {
  ASSERT_EQ(run({"steps=14", "checkpoint.every_steps=1", "checkpoint.keep_last=2",
                 "checkpoint.keep_every_steps=4"})
                .code,
            0);
  auto kept = folder.checkpoints("run");
  EXPECT_THAT(kept, testing::IsSupersetOf({4, 8, 12, 13, 14}));
  EXPECT_LE(kept.size(), 6u);  // and the best one, evaluated at 10 or 14
  std::string pointer;
  std::ifstream(folder / "run/checkpoints/best") >> pointer;
  EXPECT_TRUE(fs::exists(folder / "run/checkpoints" / pointer)) << pointer;
}

}  // namespace
}  // namespace spire
