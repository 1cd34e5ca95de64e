// trainer report and --timeline as a user types them.
#include <fstream>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "tests/run/program/run_folder.h"

namespace spire {
namespace {

using ::testing::HasSubstr;

TEST(Report, OfARunWithItsConfusionMatrix) {
  RunFolder folder;
  ASSERT_EQ(trainer(folder.run("a", test_mlp + Words{"epochs=2"})).code, 0);
  Output report = trainer({"report", (folder / "a").string(), "--evaluate"});
  ASSERT_EQ(report.code, 0) << report.err;
  EXPECT_THAT(report.out, HasSubstr("a: done, step 20, epoch 2, best test accuracy"));
  std::string page = content_of(folder / "a/report.html");
  EXPECT_THAT(page, HasSubstr("of 100 right"));  // all test images are counted
  EXPECT_THAT(page, HasSubstr(folder.summary("a")["parameter_hash"].get<std::string>()));
  // The share of right answers is the accuracy that the run measured with the same weights.
  double accuracy = folder.summary("a")["val"]["best_accuracy"];
  EXPECT_THAT(page, HasSubstr(fmt::format(": {:.0f} of 100 right", 100 * accuracy)));
  EXPECT_THAT(page, HasSubstr("\"png\":\"iVBOR"));  // of the most wrong
}

TEST(Report, OfSeveralRunsAndToAFile) {
  RunFolder folder;
  ASSERT_EQ(trainer(folder.run("a", test_mlp + Words{"steps=3"})).code, 0);
  ASSERT_EQ(trainer(folder.run("b", test_mlp + Words{"steps=3", "seed=9"})).code, 0);
  std::string to = (folder / "both.html").string();
  ASSERT_EQ(trainer({"report", (folder / "a").string(), (folder / "b").string(), "--to", to}).code,
            0);
  EXPECT_THAT(content_of(to), HasSubstr("<title>Runs of Spire</title>"));
  EXPECT_THAT(content_of(to), HasSubstr("b: done, step 3"));
  EXPECT_FALSE(std::filesystem::exists(folder / "a/report.html"));
}

TEST(Report, RefusesWhatIsNoRun) {
  RunFolder folder;
  std::filesystem::create_directories(folder / "empty");
  for (const std::string& name : {(folder / "empty").string(), (folder / "none").string()}) {
    Output report = trainer({"report", name});
    EXPECT_EQ(report.code, 2);
    EXPECT_THAT(report.last_error_line(), HasSubstr("there is no run here"));
  }
  EXPECT_EQ(trainer({"report"}).code, 2);
  for (const char* run : {"sweep/b", "sweep/a"}) {
    std::filesystem::create_directories(folder / run);
    std::ofstream(folder / run / "config.yaml") << "steps: 1\n";
  }
  std::string sweep = (folder / "sweep").string();
  EXPECT_THAT(trainer({"report", sweep}).last_error_line(),
              HasSubstr(sweep +
                        ": is a folder of 2 runs, 'a', 'b'; name one of them, or all: "
                        "trainer report " +
                        sweep + "/*"));
  ASSERT_EQ(trainer(folder.run("a", test_mlp + Words{"steps=3"})).code, 0);
  std::string run = (folder / "a").string();
  EXPECT_EQ(trainer({"report", run, run, "--evaluate"}).code, 2);
  EXPECT_EQ(trainer({"report", run, "--device", "cpu"}).code, 2);
  EXPECT_EQ(trainer({"report", run, "--to", (folder / "none/x.html").string()}).code, 0);
}

TEST(Report, ReplacesItsOwnFilesAndNoOthers) {
  RunFolder folder;
  std::string file = (folder / "notes").string(), html = (folder / "t.html").string();
  std::ofstream(file) << "mine";
  std::ofstream(folder / "lr_find.csv") << "mine";
  Words timeline = {"--overwrite", "--timeline", (folder / "t.json").string()};
  for (int i = 0; i < 2; ++i)
    ASSERT_EQ(trainer(folder.run("a", test_mlp + Words{"steps=3"}) + timeline).code, 0);
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(trainer({"report", (folder / "a").string(), "--to", html}).code, 0);
  timeline.back() = file;
  Words lr_find = {"lr-find", "data.name=synthetic", "--to", (folder / "").string()};
  for (const Words& words : {Words{"report", (folder / "a").string(), "--to", file},
                             folder.run("a", test_mlp + Words{"steps=3"}) + timeline, lr_find}) {
    Output output = trainer(words);
    EXPECT_EQ(output.code, 2);
    EXPECT_THAT(output.err, HasSubstr("is no file that this command wrote"));
  }
  EXPECT_EQ(content_of(file) + content_of(folder / "lr_find.csv"), "minemine");
}

// The processes that --processes starts get the option, too.
TEST(TimelineOption, WritesOneFileForAllProcesses) {
  RunFolder folder;
  std::string to = (folder / "t.json").string();
  Words options = {"--timeline", to, "--timeline-steps", "3:4", "--processes", "2"};
  ASSERT_EQ(trainer(folder.run("a", test_mlp + Words{"steps=6"}) + options).code, 0);
  Json file = Json::parse(content_of(to));
  std::set<std::pair<int, int64_t>> steps;
  for (const Json& event : file["traceEvents"])
    if (event["ph"] == "X" && event["cat"] == "op")
      steps.insert({event["pid"].get<int>(), event["args"]["step"].get<int64_t>()});
  EXPECT_EQ(steps, (std::set<std::pair<int, int64_t>>{{0, 3}, {0, 4}, {1, 3}, {1, 4}}));
}

TEST(TimelineOption, RefusesStepsThatAreNone) {
  RunFolder folder;
  std::string to = (folder / "t.json").string();
  Words run = folder.run("a", test_mlp + Words{"steps=6"});
  for (const char* steps : {"0:3", "4:3", "x", "3:", "1:100000", "7:9"}) {
    Output output = trainer(run + Words{"--timeline", to, "--timeline-steps", steps});
    EXPECT_EQ(output.code, 2) << steps << output.err;
  }
  EXPECT_EQ(trainer(run + Words{"--timeline-steps", "1:2"}).code, 2);  // of what?
  EXPECT_EQ(trainer(run + Words{"--timeline", (folder / "no/t.json").string()}).code, 2);
  EXPECT_FALSE(std::filesystem::exists(folder / "a/metrics.jsonl"));
}

}  // namespace
}  // namespace spire
