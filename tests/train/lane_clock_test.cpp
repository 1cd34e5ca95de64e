// The parts of a step: marks at known times, and those of trainers on each kind of device.
#include "engine/train/lane_clock.h"

#include <gtest/gtest.h>

#include "engine/base/steady_time.h"
#include "engine/observe/records.h"
#include "tests/train/device_kinds.h"
#include "tests/train/small_run.h"

namespace spire {
namespace {

// A stream whose time the test sets.
class TimedStream : public Stream {
 public:
  TimedStream() : Stream({}) {}
  double now = 0;

  std::unique_ptr<Event> make_event(Timing) const override { return std::make_unique<Point>(); }
  void record(Event& event) override { static_cast<Point&>(event).time = now; }
  double seconds_between(const Event& begin, const Event& end) override {
    return static_cast<const Point&>(end).time - static_cast<const Point&>(begin).time;
  }
  void copy(void*, const void*, size_t) override {}
  void fill_zero(void*, size_t) override {}
  void wait_for(const Event&) override {}
  void await(const Event&) override {}
  bool reached(const Event&) override { return true; }
  void synchronize() override {}
  std::unique_ptr<Recording> record_work(const std::function<void()>&) override { return {}; }
  void replay(const Recording&) override {}

 private:
  struct Point : Event {
    double time = 0;
  };
};

TEST(LaneClock, APartLastsUntilTheNextOne) {
  TimedStream stream;
  LaneClock clock(stream, 2);
  auto enter = [&](LaneClock::Part part, double time) {
    stream.now = time;
    clock.enter(part);
  };
  for (double begin : {100.0, 200.0}) {  // two steps
    stream.now = begin - 0.5;            // the lane starts later
    clock.begin();
    enter(&StepTimes::copy, begin);
    enter(&StepTimes::forward, begin + 1);
    enter(&StepTimes::forward, begin + 2);  // already there
    enter(&StepTimes::backward, begin + 4);
    enter(&StepTimes::forward, begin + 8);  // of the second tower
    enter(&StepTimes::backward, begin + 16);
    enter(&StepTimes::update, begin + 32);
    stream.now = begin + 64;
    clock.end();
    StepTimes times = clock.times();
    EXPECT_EQ(times.copy, 1);
    EXPECT_EQ(times.forward, 3 + 8);
    EXPECT_EQ(times.backward, 4 + 16);
    EXPECT_EQ(times.reduce, 0);
    EXPECT_EQ(times.update, 32);
    EXPECT_EQ(total_of(times), 64);
    auto now = stream.make_event(Timing::on);
    stream.record(*now);
    EXPECT_EQ(clock.seconds_until(*now), 64.5);
  }
}

class LaneTimes : public OnEachKind {
 protected:
  // Calls check(step, seconds of the host's clock) after each of ten steps: from the third on CUDA
  // graphs are replayed, and the seventh is a ragged batch with which an epoch ends.
  static void after_steps(const SmallRun& run,
                          const std::function<void(const StepOutcome&, double)>& check) {
    TowerTrainer trainer(run.options(), run.place());
    for_batches(trainer, run, run.dataset(), 0, 10, [&](const Batch& batch, int64_t step) {
      double begin = steady_seconds();
      StepOutcome result = trainer.step(batch, step, run.optimizer.lr);
      check(result, steady_seconds() - begin);
    });
  }
  static void expect_parts(const StepOutcome& step, double seconds, bool reduces) {
    const StepTimes& times = step.times;
    EXPECT_EQ(times.copy > 0, on_gpu());
    EXPECT_EQ(times.reduce > 0, reduces);
    for (double part : {times.forward, times.backward, times.update, times.replicate})
      EXPECT_GT(part, 0);
    EXPECT_EQ(times.data, 0);
    EXPECT_EQ(times.other, 0);
    // An event's time is a float of milliseconds.
    EXPECT_LE(total_of(times), seconds * (1 + 1e-5));
  }
};

TEST_P(LaneTimes, OneLaneReducesNothing) {
  SmallRun run;
  run.devices = devices(1);
  run.tower_threads = 2;  // all cores of a CPU in one lane
  after_steps(run,
              [](const StepOutcome& step, double seconds) { expect_parts(step, seconds, false); });
}

TEST_P(LaneTimes, SeveralLanesWaitForEachOther) {
  for (const char* strategy : {"parameter_device", "mirrored", "sharded"}) {
    SmallRun run;
    run.devices = devices(2);
    run.strategy = strategy;
    after_steps(run,
                [](const StepOutcome& step, double seconds) { expect_parts(step, seconds, true); });
  }
}

// Towers stop at each sum over towers, and go on together.
TEST_P(LaneTimes, TowersInLockstep) {
  SmallRun run;
  run.devices = devices(2);
  run.model.normalization = ModelConfig::Normalization::batch_norm;
  run.model.batch_norm = ModelConfig::BatchNorm::sync;
  after_steps(run,
              [](const StepOutcome& step, double seconds) { expect_parts(step, seconds, true); });
}

// A device arrives when the parts of its towers are over, and before the step is.
TEST_P(LaneTimes, ADeviceArrivesAfterItsTowers) {
  for (int64_t count : {1, 2}) {
    SmallRun run;
    run.devices = devices(count);
    after_steps(run, [&](const StepOutcome& step, double seconds) {
      // A lane that is alone counts what follows its towers as backward.
      double backward = count > 1 ? step.times.backward : 0;
      double sum = 0, towers = step.times.copy + step.times.forward + backward;
      DeviceReports reports(static_cast<size_t>(count));
      for (const DeviceReport& device : reports.read(step.devices)) {
        EXPECT_LE(device.arrival_ms, 1e3 * seconds * (1 + 1e-5));
        sum += device.arrival_ms;
      }
      // The parts are means over lanes, and a device arrives with its last lane.
      EXPECT_GE(sum, 1e3 * towers * static_cast<double>(count) * (1 - 1e-5));
    });
  }
}

// The time in which a judge looks at a step is in none of its parts.
TEST_P(LaneTimes, LeaveOutTheJudge) {
  for (int64_t count : {1, 2}) {
    SmallRun run;
    run.devices = devices(count);
    run.judged = true;
    TowerTrainer trainer(run.options(), run.place());
    double judging = 0;
    trainer.set_judge([&](const StepOutcome&) {
      double begin = steady_seconds();
      while ((judging = steady_seconds() - begin) < 0.02) {
      }
      return true;
    });
    for_batches(trainer, run, run.dataset(), 0, 3, [&](const Batch& batch, int64_t step) {
      double begin = steady_seconds();
      StepOutcome result = trainer.step(batch, step, run.optimizer.lr);
      double seconds = steady_seconds() - begin;
      EXPECT_LE(total_of(result.times), (seconds - judging) * (1 + 1e-5));
    });
  }
}

// A wait for data counts where the devices have nothing to do: on a GPU that still works at the
// step before, no more than the time between the two steps.
TEST_P(LaneTimes, AWaitForDataCountsWhileDevicesHaveNoWork) {
  SmallRun run;
  run.devices = devices(2);
  TowerTrainer trainer(run.options(), run.place());
  constexpr double waited = 3600;  // seconds, far longer than the test
  std::vector<double> told;        // ms, by step
  DeviceReports reports(2);
  for_batches(trainer, run, run.dataset(), 0, 4, [&](const Batch& batch, int64_t step) {
    trainer.begin_step(batch, step, run.optimizer.lr, false, waited);
    while (trainer.under_way() > (step < 3 ? trainer.max_ahead() : 0)) {
      auto devices = reports.read(trainer.finish_step().devices);
      EXPECT_EQ(devices[0].data_ms, devices[1].data_ms);
      told.push_back(devices[0].data_ms);
    }
  });
  ASSERT_EQ(told.size(), 4u);
  EXPECT_EQ(told[0], 1e3 * waited);
  for (size_t step = 1; step < 4; ++step) {
    EXPECT_GE(told[step], 0);
    if (trainer.max_ahead() > 0) {
      EXPECT_LT(told[step], 1e3 * waited);
    } else {
      EXPECT_EQ(told[step], 1e3 * waited);
    }
  }
}

SPIRE_TEST_ON_EACH_KIND(LaneTimes);

}  // namespace
}  // namespace spire
