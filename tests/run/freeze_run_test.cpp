// Whole runs with frozen parameters: what they say, and from what they may begin.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <spire/plan.h>

#include "tests/base/message_of.h"
#include "tests/run/made_run.h"

namespace spire {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

// With this seed the far row comes after these steps.
const Words few_steps = {"steps=4", "checkpoint.every_steps=2", "seed=3"};
const Words low = {"freeze=[dense1.*]"}, high = {"freeze=[dense2.*]"};

TEST(FreezeRun, ResumesWithItsFreezeOnly) {
  MadeRuns runs;
  runs.train("run", few_steps + low);
  EXPECT_THAT(message_of(Category::checkpoint,
                         [&] { runs.resume("run", few_steps + Words{"steps=5"} + high); }),
              HasSubstr("start a new run from its weights with init.from"));
}

TEST(FreezeRun, WithoutOptimizerStateMayFreezeOthersWithAWarning) {
  MadeRuns runs;
  Words sgd = few_steps + Words{"optimizer.momentum=0", "ema.decay=0.9"};
  runs.train("run", sgd + low);
  Reports reports;
  runs.resume("run", sgd + Words{"steps=5"} + high, reports);
  EXPECT_EQ(reports.steps.size(), 1u);
  EXPECT_THAT(reports.warnings, Contains(HasSubstr("freeze")));
  EXPECT_THAT(reports.warnings, Not(Contains(HasSubstr("random values"))));
}

TEST(FreezeRun, WarnsOfFrozenRandomWeights) {
  MadeRuns runs;
  Reports reports;
  runs.train("run", few_steps + low, reports);
  EXPECT_THAT(reports.warnings, Contains(HasSubstr("leaves 64 parameters at the random")));
}

// The averages of a checkpoint lack what its run had frozen.
TEST(FreezeRun, ItsAveragesAreWeightsOfANewRun) {
  MadeRuns runs;
  std::string from = runs.train("run", few_steps + low + Words{"ema.decay=0.9"}).summary.checkpoint;
  Reports reports;
  runs.train("next", few_steps + high + Words{"init.from=" + from}, reports);
  EXPECT_EQ(reports.steps.size(), 4u);
  EXPECT_THAT(reports.warnings, Not(Contains(HasSubstr("random values"))));
}

TEST(FreezeRun, ThePlanCountsWhatIsFrozen) {
  MadeRuns runs;
  PlanReport report = plan(parse_config({}, runs.words("run", low)).config);
  EXPECT_EQ(report.start.parameters, 4 * 16 + 17);
  EXPECT_EQ(report.start.frozen, 4 * 16);
}

}  // namespace
}  // namespace spire
