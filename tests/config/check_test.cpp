#include "engine/config/check.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <spire/error.h>
#include <spire/load_config.h>

#include "engine/config/text.h"
#include "tests/base/message_of.h"

namespace spire {
namespace {

using testing::HasSubstr;

RunConfig batches(std::optional<int64_t> global, std::optional<int64_t> towers,
                  int64_t batch = 128) {
  RunConfig config;
  config.batch_size = batch;
  config.global_batch = global;
  config.towers = towers;
  return config;
}

// The last tower takes what is left: 128 over 3 towers are 43, 43 and 42. Settling again, with
// another number of devices, changes nothing.
TEST(SettleBatch, FindsWhatIsNotGiven) {
  struct Case {
    RunConfig given;
    int64_t devices, batch_size, towers, global_batch;
  };
  for (auto [config, devices, batch_size, towers, global_batch] :
       {Case{batches({}, {}, 64), 3, 64, 3, 192}, Case{batches({}, 4, 64), 1, 64, 4, 256},
        Case{batches(96, {}), 3, 32, 3, 96}, Case{batches(128, {}), 3, 43, 3, 128}}) {
    for (int64_t number : {devices, devices + 1, int64_t{1}}) {
      settle_batch(config, number);
      EXPECT_EQ(config.batch_size, batch_size);
      EXPECT_EQ(config.towers, towers);
      EXPECT_EQ(config.global_batch, global_batch);
    }
  }
}

TEST(SettleBatch, AnOpenBatchSizeFollowsFromTheOthersOrIsRefused) {
  RunConfig config = batches(96, 4, 0);
  settle_batch(config, 1);
  EXPECT_EQ(config.batch_size, 24);
  for (RunConfig open : {batches({}, {}, 0), batches(96, {}, 0), batches({}, 4, 0)})
    EXPECT_THAT(message_of(Category::config, [&] { settle_batch(open, 2); }),
                HasSubstr("batch_size: auto is chosen when a run starts"));
}

TEST(BatchSize, AutoIsAWordThatIsKept) {
  auto batch = [](const std::string& word) {
    return parse_config({}, {"batch_size=" + word}).config.batch_size;
  };
  EXPECT_EQ(batch("auto"), 0);
  EXPECT_THAT(message_of(Category::config, [&] { batch("0"); }), HasSubstr("0 is out of range"));
  EXPECT_THAT(message_of(Category::config, [&] { batch("most"); }),
              HasSubstr("expected an integer"));
  RunConfig config = parse_config({}, {"batch_size=auto", "global_batch=256"}).config;
  EXPECT_FALSE(config.towers);
  EXPECT_THAT(to_yaml(config), HasSubstr("batch_size: auto\n"));
  EXPECT_EQ(parse_config({{"config", to_yaml(config)}}, {}).config.batch_size, 0);
  config = parse_config({}, {"batch_size=auto", "global_batch=256", "towers=4"}).config;
  EXPECT_EQ(config.batch_size, 64);
}

TEST(FindDoubts, AWarmUpThatOutlastsTheRunIsAllowed) {
  RunConfig config;
  config.steps = 1;
  config.schedule.warmup_steps = 3;
  EXPECT_TRUE(find_conflicts(config).empty());
  ASSERT_EQ(find_doubts(config).size(), 1u);
  EXPECT_EQ(find_doubts(config)[0].path, "schedule.warmup_steps");
  EXPECT_THAT(find_doubts(config)[0].text,
              HasSubstr("a warm-up of 3 steps is longer than the run of 1 step"));
  config.steps = 3;
  EXPECT_TRUE(find_doubts(config).empty());
  config.steps.reset();
  config.epochs = 2;
  config.schedule.warmup_steps = 0;
  config.schedule.warmup_epochs = 2.5;
  EXPECT_THAT(find_doubts(config)[0].text,
              HasSubstr("a warm-up of 2.5 epochs is longer than the run of 2 epochs"));
  config.schedule.warmup_epochs = 2;
  EXPECT_TRUE(find_doubts(config).empty());
}

// 5 over 4 towers: 2, 2 and 1 are for three.
TEST(SettleBatch, NamesTheBatchesThatTowersCanShare) {
  RunConfig config = batches(5, {});
  EXPECT_THAT(message_of(Category::config, [&] { settle_batch(config, 4); }),
              HasSubstr("use 3 towers, or a global_batch of 4 or 7"));
  for (int64_t batch : {4, 7}) {
    config = batches(batch, {});
    EXPECT_NO_THROW(settle_batch(config, 4));
  }
}

TEST(SettleBatch, IdleTowersAndNumbersThatDisagreeAreRefused) {
  auto message = [](RunConfig config) {
    return message_of(Category::config, [&] { settle_batch(config, 3); });
  };
  EXPECT_THAT(message(batches(2, {})), HasSubstr("2 samples leave 1 of 3 towers without any"));
  EXPECT_THAT(message(batches(128, 24)), HasSubstr("use 22 towers"));
  EXPECT_THAT(message(batches(100, 2, 64)),
              HasSubstr("100 samples over 2 towers are 50 for each, not batch_size 64"));
}

TEST(CheckConfig, DefaultsAreValid) {
  RunConfig config;
  EXPECT_NO_THROW(check_config(config));
}

TEST(CheckConfig, ReportsAllProblemsOfAProgramsConfig) {
  RunConfig config;
  config.model.name = "vg";
  config.optimizer.momentum = 1.5;
  config.epochs = 0;
  std::string message = message_of(Category::config, [&] { check_config(config); });
  EXPECT_THAT(message, HasSubstr("model.name: unknown value 'vg'"));
  EXPECT_THAT(message, HasSubstr("optimizer.momentum: 1.5 is out of range"));
  EXPECT_THAT(message, HasSubstr("epochs: the run would have 0 epochs and no steps"));
}

TEST(CheckConfig, UnknownEnumeratorsAndWordsListTheKnown) {
  RunConfig config;
  config.optimizer.name = static_cast<OptimizerConfig::Name>(5);
  config.schedule.name = static_cast<ScheduleConfig::Name>(-1);
  const std::string known = "must be one of: sgd, adam, adamw, lars, lamb";
  std::string message = message_of(Category::config, [&] { check_config(config); });
  EXPECT_THAT(message, HasSubstr("optimizer.name: unknown value '5'; " + known));
  EXPECT_THAT(message, HasSubstr("schedule.name: unknown value"));
  message = message_of(Category::config, [] {
    parse_config({}, {"optimizer.name=sgdd", "schedule.name=cosin"});
  });
  EXPECT_THAT(message, HasSubstr("optimizer.name: unknown value 'sgdd'; " + known));
  EXPECT_THAT(message, HasSubstr("schedule.name: unknown value 'cosin'"));
}

TEST(CheckConfig, NotANumberIsOutOfRange) {
  RunConfig config;
  config.optimizer.lr = std::nan("");
  EXPECT_THROW(check_config(config), Error);
}

TEST(Conflicts, StepsReplaceEpochs) {
  RunConfig config;
  config.epochs = 0;
  config.steps = 100;
  config.schedule.warmup_epochs = 5;
  EXPECT_TRUE(find_conflicts(config).empty());
}

// A scaled rate follows from the global batch, which is not known yet.
TEST(Conflicts, MinLrIsComparedOnlyWithAnUnscaledLr) {
  RunConfig config;
  config.schedule.min_lr = 0.2;
  EXPECT_EQ(find_conflicts(config).size(), 1u);
  config.lr.scaling = LrConfig::Scaling::linear;
  EXPECT_TRUE(find_conflicts(config).empty());
}

}  // namespace
}  // namespace spire
