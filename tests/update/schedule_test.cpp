#include "engine/update/schedule.h"

#include <gtest/gtest.h>

#include <spire/error.h>

namespace spire {
namespace {

TEST(Schedule, WarmUpRisesLinearlyToTheFullRate) {
  Schedule schedule({.name = ScheduleConfig::Name::constant, .warmup_steps = 4}, 0.8, 100, 10);
  EXPECT_DOUBLE_EQ(schedule.lr(0), 0.2);
  EXPECT_DOUBLE_EQ(schedule.lr(3), 0.8);
  EXPECT_DOUBLE_EQ(schedule.lr(4), 0.8);
  EXPECT_DOUBLE_EQ(schedule.lr(99), 0.8);
}

TEST(Schedule, WarmUpEpochsCountSteps) {
  EXPECT_EQ(Schedule({.warmup_epochs = 1.5}, 1, 100, 10).warmup_steps(), 15);
}

TEST(Schedule, StepDropsByGamma) {
  Schedule schedule({.name = ScheduleConfig::Name::step, .step_epochs = 2, .gamma = 0.1}, 1.0, 100,
                    10);
  EXPECT_DOUBLE_EQ(schedule.lr(19), 1.0);
  EXPECT_DOUBLE_EQ(schedule.lr(20), 0.1);
  EXPECT_NEAR(schedule.lr(99), 1e-4, 1e-12);
}

TEST(Schedule, StepsWinOverEpochs) {
  Schedule schedule(
      {.name = ScheduleConfig::Name::step, .step_epochs = 2, .step_steps = 7, .gamma = 0.5}, 1, 100,
      10);
  EXPECT_DOUBLE_EQ(schedule.lr(6), 1.0);
  EXPECT_DOUBLE_EQ(schedule.lr(7), 0.5);
  EXPECT_DOUBLE_EQ(schedule.lr(14), 0.25);
}

TEST(Schedule, MultistepDropsAtMilestones) {
  Schedule epochs({.name = ScheduleConfig::Name::multistep, .milestones = {3, 5}, .gamma = 0.1}, 1,
                  100, 10);
  for (auto [step, lr] :
       {std::pair{0, 1.0}, {29, 1.0}, {30, 0.1}, {49, 0.1}, {50, 0.01}, {99, 0.01}})
    EXPECT_DOUBLE_EQ(epochs.lr(step), lr) << step;
  Schedule steps({.name = ScheduleConfig::Name::multistep,
                  .milestones = {3},
                  .milestone_steps = {8},
                  .gamma = 0.5},
                 1, 100, 10);
  EXPECT_DOUBLE_EQ(steps.lr(7), 1.0);
  EXPECT_DOUBLE_EQ(steps.lr(8), 0.5);
  EXPECT_DOUBLE_EQ(steps.lr(99), 0.5);
}

TEST(Schedule, TheRateGrowsWithTheGlobalBatch) {
  EXPECT_EQ(scaled_lr(0.1, {.scaling = LrConfig::Scaling::none, .base_batch = 7}, 1024), 0.1);
  EXPECT_DOUBLE_EQ(scaled_lr(0.1, {.scaling = LrConfig::Scaling::linear}, 1024), 0.4);
  EXPECT_DOUBLE_EQ(scaled_lr(0.1, {.scaling = LrConfig::Scaling::linear}, 64), 0.025);
  EXPECT_DOUBLE_EQ(scaled_lr(0.1, {.scaling = LrConfig::Scaling::sqrt}, 1024), 0.2);
}

TEST(Schedule, CosineLinearPolynomialGoFromLrToMin) {
  Schedule cosine({.name = ScheduleConfig::Name::cosine, .min_lr = 0.1}, 1.1, 100, 10);
  EXPECT_DOUBLE_EQ(cosine.lr(0), 1.1);
  EXPECT_NEAR(cosine.lr(50), 0.6, 1e-12);
  EXPECT_NEAR(cosine.lr(100), 0.1, 1e-12);
  Schedule linear({.name = ScheduleConfig::Name::linear}, 1.0, 100, 10);
  EXPECT_DOUBLE_EQ(linear.lr(25), 0.75);
  Schedule polynomial({.name = ScheduleConfig::Name::polynomial, .power = 2}, 1.0, 100, 10);
  EXPECT_DOUBLE_EQ(polynomial.lr(50), 0.25);
}

TEST(Schedule, AShortRunEndsInItsWarmUp) {
  Schedule schedule({.name = ScheduleConfig::Name::cosine, .warmup_steps = 1000}, 1.0, 100, 10);
  EXPECT_DOUBLE_EQ(schedule.lr(99), 0.1);
}

TEST(Schedule, RefusesANumberThatIsNoName) {
  Schedule schedule({.name = static_cast<ScheduleConfig::Name>(6)}, 1.0, 10, 10);
  EXPECT_THROW(schedule.lr(0), Error);
  LrConfig unknown{.scaling = static_cast<LrConfig::Scaling>(3)};
  EXPECT_THROW(scaled_lr(1.0, unknown, 256), Error);
}

}  // namespace
}  // namespace spire
