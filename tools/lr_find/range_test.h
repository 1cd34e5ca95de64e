// Range test of the learning rate: Smith, "Cyclical Learning Rates for Training Neural Networks",
// 2017. A new run trains some steps while the rate rises exponentially; it works where the loss
// falls, and is too high where the loss rises.
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <spire/run_config.h>

namespace spire {

struct RangePoint {
  int64_t step = 0;     // from 1
  double lr = 0;        // of the step, after lr.scaling
  double loss = 0;      // of its batch
  double smoothed = 0;  // of the steps so far (RangeTest::smoothing)
};

struct RateTrial {
  double lr = 0;    // of all steps, after lr.scaling
  double loss = 0;  // mean of the last quarter of the steps; infinite: it diverged
};

struct RangeTestOptions {
  int64_t steps = 100;                      // at least 2
  double low = 1e-6, high = 10;             // rates of the first and the last step, low < high
  const std::atomic<bool>* stop = nullptr;  // set it to end with the present step
  std::function<void(const RangePoint&)> on_step = {};
};

struct RangeTest {
  // Weight of the past in the moving average of the losses, which is corrected for its beginning as
  // in Adam: s = sum of smoothing^(k - i) loss_i / sum of smoothing^(k - i).
  static constexpr double smoothing = 0.95;
  // The test ends early if the smoothed loss is more than this many times its lowest value.
  static constexpr double blow_up = 4;

  std::vector<RangePoint> points;
  std::string ended;  // why it ended early; empty: it did not
  // Rate at the lowest smoothed loss, and rate at which the smoothed loss falls most per decade of
  // the rate. Empty if the smoothed loss never fell.
  std::optional<double> lowest, steepest;
  // Runs of as many steps from the same weights, each at a constant rate: a tenth of `lowest`, and
  // less. Empty if `lowest` is empty or the test was stopped.
  std::vector<RateTrial> trials;
  double scaling = 1;  // what lr.scaling multiplies optimizer.lr by

  // Returns the rate of the best trial as a value of optimizer.lr (before lr.scaling); if no trial
  // has a finite loss, a tenth of `lowest`. Empty without `lowest`.
  std::optional<double> suggested() const;
};

// Trains from the initial weights of the config, at the rates low (high / low)^(i / (steps - 1)),
// without schedule, and then makes the trials; the weights are not kept. on_step is called in the
// trials, too. The numbers are the same on any devices with the same towers. Blocks until the end;
// any thread may call it. Throws as Trainer, and Error(config) for options out of range.
RangeTest test_range(const RunConfig& config, const RangeTestOptions& options);

std::string to_csv(const RangeTest& test);  // step,lr,loss,smoothed

// Fills in smoothed, lowest and steepest from the losses.
void judge(RangeTest& test);

// Returns a page that needs no network. title: plain text, such as the config's file.
std::string range_test_html(const std::string& title, const RangeTest& test);

}  // namespace spire
