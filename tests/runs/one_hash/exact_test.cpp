// Runs with precision: exact end with one hash for any split of their global batch into towers, on
// any devices and in any number of processes.
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/runs/run_folder.h"

namespace spire {
namespace {

const Words exact = {"precision=exact", "--overwrite"};

TEST(ExactRun, HasOneHashForAnySplitOfItsGlobalBatch) {
  RunFolder folder;
  std::string expected;
  for (const Words& split :
       {Words{"towers=1", "batch_size=12", "devices=cpu"},
        Words{"towers=4", "batch_size=3", "devices=2xcpu", "strategy=sharded"},
        Words{"towers=12", "batch_size=1", "devices=3xcpu"},
        Words{"towers=2", "batch_size=6", "devices=cpu", "--processes", "2"}}) {
    Output output = trainer(folder.run("run", test_cnn + exact + split));
    ASSERT_EQ(output.code, 0) << output.err;
    if (expected.empty()) expected = printed_hash(output);
    EXPECT_EQ(printed_hash(output), expected) << split[0];
    EXPECT_THAT(output.err, testing::HasSubstr("any towers that share a global batch of 12"));
  }
  EXPECT_EQ(expected.size(), 16u);
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

TEST(ExactRun, OfARegressionDoesNotStopEarly) {
  RunFolder folder;
  std::ofstream table(folder / "table.csv");
  table << "a,b,y\n";
  for (int i = 0; i < 40; ++i) table << i << ',' << i % 7 << ',' << 0.1 * i << '\n';
  table.close();
  Words words = {"model.name=linear",
                 "data.name=csv",
                 "data.path=" + (folder / "table.csv").string(),
                 "data.csv.scale_target=false",
                 "precision=exact",
                 "steps=3",
                 "--overwrite"};
  EXPECT_EQ(trainer(folder.run("run", words)).code, 0);
  Output output = trainer(folder.run("run", words + Words{"early_stop.patience=2"}));
  EXPECT_EQ(output.code, 2);
  EXPECT_THAT(output.err, testing::HasSubstr("early_stop.patience"));
  words[3] = "data.csv.scale_target=true";
  output = trainer(folder.run("run", words));
  EXPECT_EQ(output.code, 2);
  EXPECT_THAT(output.err, testing::HasSubstr("set data.csv.scale_target: false"));
}

}  // namespace
}  // namespace spire
