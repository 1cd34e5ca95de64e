// Runs with precision: exact end with one hash for any split of their global batch into towers, on
// any devices and in any number of processes.
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/run/program/run_folder.h"

namespace spire {
namespace {

const Words exact = {"precision=exact", "--overwrite"};

TEST(ExactRun, HasOneHashForAnySplitOfItsGlobalBatch) {
  RunFolder folder;
  std::string expected;
  for (const Words& split :
       {Words{"towers=1", "batch_size=14", "devices=cpu"},
        Words{"towers=7", "batch_size=2", "devices=2xcpu", "strategy=sharded"},
        Words{"towers=14", "batch_size=1", "devices=3xcpu"},
        Words{"towers=3", "global_batch=14", "batch_size=null", "devices=2xcpu"},
        Words{"towers=2", "batch_size=7", "devices=cpu", "--processes", "2"}}) {
    Output output = trainer(folder.run("run", test_cnn + exact + split));
    ASSERT_EQ(output.code, 0) << output.err;
    if (expected.empty()) expected = printed_hash(output);
    EXPECT_EQ(printed_hash(output), expected) << split[0];
    EXPECT_THAT(output.err, testing::HasSubstr("any towers that share a global batch of 14"));
  }
  EXPECT_EQ(expected.size(), 16u);
}

// Resumed with other towers and threads, a run ends as if it had had them from its first step.
TEST(ExactRun, GoesOnInAnotherSplit) {
  RunFolder folder;
  Words course = test_cnn + Words{"precision=exact", "checkpoint.every_steps=4", "tower_threads=1"};
  auto run = [&](const char* name, const Words& more) {
    return trainer(folder.run(name, course + more));
  };
  std::string expected = printed_hash(run("whole", {"towers=1", "batch_size=14", "steps=14"}));
  ASSERT_EQ(run("run", {"towers=7", "batch_size=2", "steps=4"}).code, 0);
  Words resume = {"--resume", "auto"};
  Output other = run("run", resume + Words{"towers=2", "global_batch=12", "batch_size=null"});
  EXPECT_EQ(other.code, 2);
  EXPECT_THAT(other.last_error_line(), testing::HasSubstr("global_batch: 12, but the run of"));
  for (const Words& split :
       {Words{"towers=2", "batch_size=7", "steps=6"}, Words{"towers=5", "batch_size=7", "steps=9"},
        Words{"towers=3", "global_batch=14", "batch_size=null", "steps=11"},
        Words{"towers=1", "batch_size=14", "tower_threads=2", "steps=14"}}) {
    other = run("run", resume + split);
    ASSERT_EQ(other.code, 0) << other.err;
    EXPECT_EQ(folder.summary("run")["towers"], std::stoi(split[0].substr(7)));
  }
  EXPECT_EQ(printed_hash(other), expected);
  // By the run's own config, twice as after a preemption; its chain holds, on other devices, too.
  std::string named = (folder / "run").string();
  for (const char* steps : {"steps=16", "steps=18"}) {
    Output again = trainer({"--resume", named, "towers=3", steps, "devices=2xcpu"});
    ASSERT_EQ(again.code, 0) << again.err;
  }
  Output audit = trainer({"audit", named, "--from", "14", "--steps", "4", "--set", "devices=cpu"});
  EXPECT_EQ(audit.code, 0) << audit.err << audit.out;
}

TEST(ExactRun, RefusesKeysByWhichTheSplitWouldCount) {
  RunFolder folder;
  for (const char* word : {"data.augment.mixup=0.2", "data.augment.cutmix=1", "adapt.lora.rank=2",
                           "loss.class_weights=[1, 2, 0.5, 1.5]", "loss.name=focal"}) {
    Output output = trainer(folder.run("run", test_cnn + exact + Words{word}));
    EXPECT_EQ(output.code, 2) << word;
    std::string key = std::string(word).substr(0, std::string(word).find('='));
    EXPECT_THAT(output.err, testing::HasSubstr(key)) << output.err;
    EXPECT_THAT(output.err, testing::HasSubstr("precision: exact")) << output.err;
  }
}

TEST(ExactRun, OfARegressionHasOneHashAndDoesNotStopEarly) {
  RunFolder folder;
  std::ofstream table(folder / "table.csv");
  table << "a,b,y\n";
  for (int i = 0; i < 40; ++i) table << i << ',' << i % 7 << ',' << 0.1 * i << '\n';
  table.close();
  Words words = {"model.name=linear",
                 "data.name=csv",
                 "data.path=" + (folder / "table.csv").string(),
                 "data.csv.scale_target=true",
                 "precision=exact",
                 "steps=3",
                 "--overwrite"};
  Output whole = trainer(folder.run("run", words + Words{"towers=1", "batch_size=12"}));
  Output split = trainer(folder.run("run", words + Words{"towers=4", "batch_size=3"}));
  EXPECT_EQ(whole.code, 0) << whole.err;
  EXPECT_EQ(printed_hash(split), printed_hash(whole)) << split.err;
  Output output = trainer(folder.run("run", words + Words{"early_stop.patience=2"}));
  EXPECT_EQ(output.code, 2);
  EXPECT_THAT(output.err, testing::HasSubstr("early_stop.patience"));
}

TEST(ExactRun, SaysWhichWordsItCannotEmbed) {
  RunFolder folder;
  std::ofstream table(folder / "table.csv");
  table << "colour,b,y\n";
  for (int i = 0; i < 40; ++i)
    table << (i % 3 ? "red" : "blue") << ',' << i % 7 << ',' << i << ".5\n";
  table.close();
  Words words = {"model.name=linear", "data.name=csv",
                 "data.path=" + (folder / "table.csv").string(), "precision=exact", "--overwrite"};
  Output output = trainer(folder.run("run", words + Words{"data.csv.categories=embedding"}));
  EXPECT_EQ(output.code, 2) << output.err;
  EXPECT_THAT(output.last_error_line(),
              testing::HasSubstr("embedding learns a vector for each word of column 'colour', and "
                                 "precision: exact has no sums without an order"));
}

}  // namespace
}  // namespace spire
