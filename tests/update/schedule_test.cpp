#include "engine/update/schedule.h"

#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <spire/error.h>

namespace spire {
namespace {

using Name = ScheduleConfig::Name;

// Rates of a run of 100 steps, 10 of them an epoch.
struct Row {
  const char* name;
  ScheduleConfig config;
  double lr;
  std::vector<std::pair<int64_t, double>> rates;  // by step
};

const std::vector<Row> rows = {
    {"warm-up to the full rate",
     {.name = Name::constant, .warmup_steps = 4},
     0.8,
     {{0, 0.2}, {3, 0.8}, {4, 0.8}, {99, 0.8}}},
    {"drops by gamma",
     {.name = Name::step, .step_epochs = 2, .gamma = 0.1},
     1,
     {{19, 1}, {20, 0.1}, {99, 1e-4}}},
    {"steps win over epochs",
     {.name = Name::step, .step_epochs = 2, .step_steps = 7, .gamma = 0.5},
     1,
     {{6, 1}, {7, 0.5}, {14, 0.25}}},
    {"milestones in epochs",
     {.name = Name::multistep, .milestones = {3, 5}, .gamma = 0.1},
     1,
     {{0, 1}, {29, 1}, {30, 0.1}, {49, 0.1}, {50, 0.01}, {99, 0.01}}},
    {"milestones in steps",
     {.name = Name::multistep, .milestones = {3}, .milestone_steps = {8}, .gamma = 0.5},
     1,
     {{7, 1}, {8, 0.5}, {99, 0.5}}},
    {"cosine to min_lr",
     {.name = Name::cosine, .min_lr = 0.1},
     1.1,
     {{0, 1.1}, {50, 0.6}, {100, 0.1}}},
    {"linear", {.name = Name::linear}, 1, {{25, 0.75}}},
    {"polynomial", {.name = Name::polynomial, .power = 2}, 1, {{50, 0.25}}},
    {"a run that ends in its warm-up",
     {.name = Name::cosine, .warmup_steps = 1000},
     1,
     {{99, 0.1}}}};

TEST(Schedule, HasTheRatesOfItsFormula) {
  for (const Row& row : rows) {
    Schedule schedule(row.config, row.lr, 100, 10);
    for (auto [step, lr] : row.rates)
      EXPECT_NEAR(schedule.lr(step), lr, 1e-15) << row.name << ", step " << step;
  }
}

TEST(Schedule, WarmUpEpochsCountSteps) {
  EXPECT_EQ(Schedule({.warmup_epochs = 1.5}, 1, 100, 10).warmup_steps(), 15);
}

TEST(Schedule, TheRateGrowsWithTheGlobalBatch) {
  EXPECT_EQ(scaled_lr(0.1, {.scaling = LrConfig::Scaling::none, .base_batch = 7}, 1024), 0.1);
  EXPECT_DOUBLE_EQ(scaled_lr(0.1, {.scaling = LrConfig::Scaling::linear}, 1024), 0.4);
  EXPECT_DOUBLE_EQ(scaled_lr(0.1, {.scaling = LrConfig::Scaling::linear}, 64), 0.025);
  EXPECT_DOUBLE_EQ(scaled_lr(0.1, {.scaling = LrConfig::Scaling::sqrt}, 1024), 0.2);
}

TEST(Schedule, RefusesANumberThatIsNoName) {
  Schedule schedule({.name = static_cast<ScheduleConfig::Name>(6)}, 1.0, 10, 10);
  EXPECT_THROW(schedule.lr(0), Error);
  LrConfig unknown{.scaling = static_cast<LrConfig::Scaling>(3)};
  EXPECT_THROW(scaled_lr(1.0, unknown, 256), Error);
}

}  // namespace
}  // namespace spire
