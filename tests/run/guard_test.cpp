#include "engine/run/guard.h"

#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <spire/error.h>

namespace spire {
namespace {

using testing::HasSubstr;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double inf = std::numeric_limits<double>::infinity();

StepOutcome step(double loss, double grad_norm) {
  StepOutcome result;
  result.loss = loss;
  result.grad_norm = grad_norm;
  return result;
}

// Mean 10, standard deviation 2.
Guard full_guard(double loss_zscore, double grad_zscore = 0) {
  Guard guard({.loss_zscore = loss_zscore, .grad_zscore = grad_zscore, .window = 4});
  for (double value : {8.0, 12.0, 8.0, 12.0}) guard.accept(step(value, value));
  return guard;
}

TEST(Guard, NumbersThatAreNotFiniteAreBad) {
  Guard guard({});
  EXPECT_FALSE(guard.judges());
  EXPECT_EQ(guard.problem(step(1, 1)), "");
  EXPECT_EQ(guard.problem(step(-nan, 1)), "the loss is nan, the gradient norm 1");
  EXPECT_EQ(guard.problem(step(1, inf)), "the loss is 1, the gradient norm inf");
  StepOutcome overflow = step(nan, inf);
  overflow.skipped = true;  // the loss scale's affair
  EXPECT_EQ(guard.problem(overflow), "");
}

TEST(Guard, ASpikeIsSoManyDeviationsAboveTheMean) {
  EXPECT_EQ(full_guard(3).problem(step(16, 1e9)), "");
  EXPECT_THAT(
      full_guard(3).problem(step(16.001, 0)),
      HasSubstr("the loss 16.001 is 3.0 standard deviations above the mean 10 of the last 4"));
  EXPECT_EQ(full_guard(3).problem(step(-1000, 0)), "");  // a fall is good
  EXPECT_THAT(full_guard(0, 2).problem(step(0, 14.5)), HasSubstr("the gradient norm 14.5 is 2.2"));
}

TEST(Guard, JudgesNoSpikesBeforeTheWindowIsFull) {
  Guard guard({.loss_zscore = 1, .window = 3});
  for (double loss : {1.0, 1.0}) guard.accept(step(loss, 0));
  EXPECT_EQ(guard.problem(step(100, 0)), "");
  guard.accept(step(1, 0));
  EXPECT_NE(guard.problem(step(100, 0)), "");
  EXPECT_EQ(guard.problem(step(1, 0)), "");  // no deviation at all
}

TEST(Guard, TheWindowHasTheLastGoodSteps) {
  Guard guard = full_guard(3);
  for (int i = 0; i < 4; ++i) guard.accept(step(100 + 2 * (i % 2), 0));
  EXPECT_EQ(guard.problem(step(104, 0)), "");
  EXPECT_NE(guard.problem(step(104.1, 0)), "");
}

TEST(Guard, ItsTextRestoresEveryBit) {
  Guard guard = full_guard(3);
  guard.accept(step(0.1, 1.0 / 3));
  guard.skip();
  guard.skip();
  Guard restored({.loss_zscore = 3, .window = 4});
  restored.restore(guard.text());
  EXPECT_EQ(restored.text(), guard.text());
  EXPECT_EQ(restored.bad_steps(), 2);
  EXPECT_EQ(restored.in_row(), 2);
  EXPECT_EQ(restored.problem(step(30, 0)), guard.problem(step(30, 0)));
  EXPECT_EQ(Guard({}).text(), "");  // nothing to keep: checkpoints stay as they were
  EXPECT_THROW(restored.restore("x"), Error);
}

TEST(Guard, ARollbackMakesAllStepsSinceBadOnes) {
  Guard guard({.on_bad_step = GuardConfig::OnBadStep::rollback});
  guard.skip();                        // step 3
  std::string at_five = guard.text();  // a checkpoint
  guard.accept(step(1, 1));
  guard.skip();  // step 7
  guard.roll_back(at_five, 5, 9);
  EXPECT_EQ(guard.bad_steps(), 1 + 4);
  EXPECT_EQ(guard.rollbacks(), 1);
  guard.roll_back("", 5, 9);  // of a run that had no guard then
  EXPECT_EQ(guard.bad_steps(), 4);
}

TEST(Guard, AGoodStepEndsARow) {
  Guard guard({.on_bad_step = GuardConfig::OnBadStep::skip});
  guard.skip();
  guard.skip();
  EXPECT_EQ(guard.in_row(), 2);
  guard.accept(step(1, 1));
  EXPECT_EQ(guard.in_row(), 0);
  EXPECT_EQ(guard.bad_steps(), 2);
}

}  // namespace
}  // namespace spire
