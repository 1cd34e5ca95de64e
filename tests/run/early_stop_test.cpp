#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "engine/run/evaluation.h"

namespace spire {
namespace {

// Returns the number of the evaluation after which it stops, from 1; 0: never. Larger metrics are
// better here.
int stops_after(EarlyStop stop, const std::vector<double>& metrics) {
  double best = -std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < metrics.size(); ++i) {
    bool improved = i == 0 || metrics[i] > best;
    if (improved) best = metrics[i];
    stop.add(improved, metrics[i]);
    if (stop.reached()) return static_cast<int>(i) + 1;
  }
  return 0;
}

TEST(EarlyStop, WaitsForPatienceEvaluationsInARow) {
  const std::vector<double> metrics = {0.5, 0.6, 0.5, 0.6, 0.7, 0.7, 0.6, 0.5, 0.9};
  EXPECT_EQ(stops_after(EarlyStop({.patience = 1}), metrics), 3);
  EXPECT_EQ(stops_after(EarlyStop({.patience = 2}), metrics), 4);
  EXPECT_EQ(stops_after(EarlyStop({.patience = 3}), metrics), 8);
  EXPECT_EQ(stops_after(EarlyStop({.patience = 4}), metrics), 0);
  EXPECT_EQ(stops_after(EarlyStop({.patience = 0}), metrics), 0);
}

TEST(EarlyStop, ThereIsNothingToImproveOnAtFirst) {
  EXPECT_FALSE(EarlyStop({.patience = 1}).reached());
  EXPECT_EQ(stops_after(EarlyStop({.patience = 1, .min_delta = 10}), {0.5, 0.6}), 2);
}

TEST(EarlyStop, SmallStepsAddUpToAnImprovement) {
  const std::vector<double> crawl = {1, 1.25, 1.5, 1.75, 2, 2.25, 2.5, 2.75, 3};
  EXPECT_EQ(stops_after(EarlyStop({.patience = 4, .min_delta = 1}), crawl), 0);
  EXPECT_EQ(stops_after(EarlyStop({.patience = 3, .min_delta = 1}), crawl), 4);
  EXPECT_EQ(stops_after(EarlyStop({.patience = 4, .min_delta = 1.125}), crawl), 5);
}

// For a loss, which shrinks, only the caller knows that less is better.
TEST(EarlyStop, ComparesMetricsThatGrowOrShrink) {
  EarlyStop stop({.patience = 1, .min_delta = 0.5});
  stop.add(true, 3.0);
  stop.add(true, 2.25);
  EXPECT_FALSE(stop.reached());
  stop.add(true, 2.0);
  EXPECT_TRUE(stop.reached());
}

TEST(EarlyStop, AnyNumberImprovesOnNaN) {
  EarlyStop stop({.patience = 2, .min_delta = 0.5});
  stop.add(true, std::numeric_limits<double>::quiet_NaN());
  stop.add(true, 0.1);
  EXPECT_EQ(stop.state().waited, 0);
  EXPECT_EQ(stop.state().reference, 0.1);
}

TEST(EarlyStop, ContinuesFromItsState) {
  const std::vector<double> metrics = {0.5, 0.6, 0.5, 0.55, 0.58, 0.4};
  for (size_t cut = 0; cut < metrics.size(); ++cut) {
    EarlyStop first({.patience = 3}), second({.patience = 3});
    double best = 0;
    for (size_t i = 0; i < metrics.size(); ++i) {
      if (i == cut) second.restore(first.state());
      EarlyStop& stop = i < cut ? first : second;
      EXPECT_FALSE(stop.reached() && i < 5) << i;
      stop.add(metrics[i] > best, metrics[i]);
      best = std::max(best, metrics[i]);
      EXPECT_EQ(stop.reached(), i >= 4) << "cut at " << cut << ", evaluation " << i;
    }
  }
}

}  // namespace
}  // namespace spire
