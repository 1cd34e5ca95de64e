// The verdict's lines, one case a row, and the numbers at which they begin.
#include "engine/observe/verdict.h"

#include <functional>

#include <gmock/gmock.h>

#include "tests/observe/reports.h"

namespace spire {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// A run of 100 steps of a second each on four GPUs, of which this process has the first two.
struct MadeRun {
  RunNumbers numbers = {.times = {.forward = 0.3, .backward = 0.6, .update = 0.1},
                        .data_workers = 2,
                        .labels = {{"cuda:0", 1}, {"cuda:1", 1}, {"cuda:2", 1}, {"cuda:3", 1}},
                        .first = 0,
                        .end = 2};
  MadeSteps steps{4};
  DeviceHistory history{4};

  MadeRun() { steps.step_ms = 1000; }
  void run(int count = 100, std::initializer_list<double> arrivals_ms = {900, 900, 900, 900}) {
    for (int i = 0; i < count; ++i) history.add(steps.at(arrivals_ms));
  }
  void give_ranks() {  // two devices each
    for (size_t d = 0; d < 4; ++d) numbers.labels[d].rank = static_cast<int>(d / 2);
  }
  std::vector<std::string> lines() const { return verdict(numbers, history); }
};

struct VerdictCase {
  const char* name;
  std::function<void(MadeRun&)> change;
  std::vector<std::string> lines;
};

std::vector<VerdictCase> cases() {
  return {
      {"ComputeBound",
       [](MadeRun& made) { made.run(); },
       {"compute-bound 90 %: forward and backward fill the steps"}},
      {"TooShort", [](MadeRun& made) { made.run(49); }, {}},
      {"InputBound",
       [](MadeRun& made) {
         made.numbers.times = {.data = 0.37, .forward = 0.23, .backward = 0.4};
         made.run();
       },
       {"input-bound 37 %: raise data.workers (now 2)"}},
      {"CommunicationBound",
       [](MadeRun& made) {
         made.numbers.times = {.forward = 0.3, .backward = 0.58, .reduce = 0.12};
         made.run();
       },
       {"communication-bound 12 %: a larger batch_size sends as much for more samples"}},
      {"BothBoundsAtTheirThresholds",
       [](MadeRun& made) {
         made.numbers.times = {.data = 0.125, .forward = 0.75, .reduce = 0.125};
         made.run();
       },
       {"input-bound 12 %: raise data.workers (now 2)",
        "communication-bound 12 %: a larger batch_size sends as much for more samples"}},
      // The first rank's wait of 100 ms is one for the data of the second rank, of the third
      // device.
      {"InputOfOneRank",
       [](MadeRun& made) {
         made.give_ranks();
         made.numbers.times = {.forward = 0.3, .backward = 0.58, .reduce = 0.12};
         made.steps.devices[2].data_ms = made.steps.devices[3].data_ms = 110;
         made.run();
       },
       {"input-bound 11 %: rank 1 waits for its data, and the others for it; raise data.workers "
        "(now 2)"}},
      {"InputOfEveryRank",
       [](MadeRun& made) {
         made.give_ranks();
         made.numbers.times = {.data = 0.2, .forward = 0.3, .backward = 0.5};
         for (int turn : {0, 1}) {
           auto first = static_cast<size_t>(2 * turn);
           for (DeviceReport& device : made.steps.devices) device.data_ms = 200;
           made.steps.devices[first].data_ms = made.steps.devices[first + 1].data_ms = 210;
           made.run(50, {700, 700, 700, 700});
         }
       },
       {"input-bound 21 %: all ranks wait for their data; raise data.workers (now 2)"}},
      // Who waits for data while others compute holds up nobody.
      {"InputBesideLongerWork",
       [](MadeRun& made) {
         made.give_ranks();
         made.steps.devices[2].data_ms = made.steps.devices[3].data_ms = 300;
         made.run(100, {900, 900, 590, 600});
       },
       {"cuda:0 arrives last in 100 % of steps, 50 % after the median: it runs slower; look for "
        "other work on it, or for weaker hardware"}},
      {"LanesOfADevice",
       [](MadeRun& made) {
         made.numbers.times = {.forward = 0.3, .backward = 0.5, .reduce = 0.2};
         made.steps.devices[0].lane_wait_ms = made.steps.devices[1].lane_wait_ms = 150;
         made.run();
       },
       {"lanes of a device wait 15 % for each other: choose towers that they divide evenly, or "
        "look for other work on their cores"}},
      // Two threads on two cores, of which others use 0.2 and more.
      {"Load",
       [](MadeRun& made) {
         made.numbers.threads = made.numbers.cores = 2;
         made.steps.devices[0].others_cores = 1.5;
         made.run(50);
         made.steps.devices[0].others_cores = 1.7;
         made.run(50);
       },
       {"others use 1.6 of 2 cores: steps wait for them"}},
      {"LoadAtItsThreshold",
       [](MadeRun& made) {
         made.numbers.threads = 4;
         made.numbers.cores = 8;
         made.steps.devices[0].others_cores = 4.5;
         made.run();
       },
       {"others use 4.5 of 8 cores: steps wait for them"}},
      {"LoadOnCoresThatTheRunLeaves",
       [](MadeRun& made) {
         made.numbers.threads = 4;
         made.numbers.cores = 8;
         made.steps.devices[0].others_cores = 4.25;
         made.run();
       },
       {"compute-bound 90 %: forward and backward fill the steps"}},
      // tower_threads above the cores: the run's own threads share them.
      {"MoreThreadsThanCores",
       [](MadeRun& made) {
         made.numbers.threads = 4;
         made.numbers.cores = 2;
         made.steps.devices[0].others_cores = 0.1;
         made.run();
       },
       {"compute-bound 90 %: forward and backward fill the steps"}},
      {"LoadBesideMoreThreadsThanCores",
       [](MadeRun& made) {
         made.numbers.threads = 4;
         made.numbers.cores = 2;
         made.steps.devices[0].others_cores = 0.5;
         made.run();
       },
       {"others use 0.5 of 2 cores: steps wait for them"}},
      {"LoadForAMoment",
       [](MadeRun& made) {
         made.numbers.threads = made.numbers.cores = 2;
         made.steps.devices[0].others_cores = 1.6;
         made.run(1);
         made.steps.devices[0].others_cores = {};
         made.run(99);
       },
       {"compute-bound 90 %: forward and backward fill the steps"}},
      // The wait of 100 ms is one for the third device, not for messages.
      {"Straggler",
       [](MadeRun& made) {
         made.numbers.times = {.forward = 0.3, .backward = 0.58, .reduce = 0.12};
         made.run(91, {700, 700, 798, 700});
         made.run(9, {700, 700, 700, 700});
       },
       {"cuda:2 arrives last in 91 % of steps, 14 % after the median: it runs slower; look for "
        "other work on it, or for weaker hardware"}},
      {"MoreTowers",
       [](MadeRun& made) {
         made.numbers.labels[1].towers = 2;
         made.run(100, {400, 800, 400, 400});
       },
       {"cuda:1 arrives last in 100 % of steps, 100 % after the median: it computes 2 towers, "
        "others 1; towers that the devices divide evenly end that"}},
      {"ThrottledByHeat",
       [](MadeRun& made) {
         made.steps.step_ms = 10'000;
         made.run(28);
         made.steps.devices[3].throttle_reasons = {"idle", "heat"};
         made.run(72);
       },
       {"cuda:3 throttled by heat for 12 min: improve its cooling"}},
      {"SeveralThrottled",
       [](MadeRun& made) {
         made.run(70);
         made.steps.devices[1].throttle_reasons = {"power cap"};
         made.run(10);
         made.steps.devices[0].throttle_reasons = {"power cap", "clock setting"};
         made.run(20);
       },
       {"cuda:0, cuda:1 held at its power limit for up to 30 s: nvidia-smi -pl raises it as far as "
        "the board allows"}},
      {"ThrottledForAMoment",
       [](MadeRun& made) {
         made.run(96);
         made.steps.devices[1].throttle_reasons = {"heat"};
         made.run(4);
       },
       {"compute-bound 90 %: forward and backward fill the steps"}},
      {"OneIdle",
       [](MadeRun& made) {
         for (DeviceReport& device : made.steps.devices) device.busy = 0.97;
         made.steps.devices[1].busy = 0.6;
         made.run();
       },
       {"cuda:1 idle 40 %: it costs the same"}},
      {"AllIdle",
       [](MadeRun& made) {
         double busy = 0.7;
         for (DeviceReport& device : made.steps.devices) device.busy = busy -= 0.05;
         made.run();
       },
       {"cuda:0, cuda:1, cuda:2, cuda:3 idle 35 to 50 %: they cost the same"}},
      {"IdleForAMoment",
       [](MadeRun& made) {
         made.steps.devices[0].busy = 0.1;
         made.run(9);
         made.steps.devices[0].busy = {};
         made.run(91);
       },
       {"compute-bound 90 %: forward and backward fill the steps"}},
  };
}

class Verdict : public testing::TestWithParam<VerdictCase> {};

TEST_P(Verdict, Lines) {
  MadeRun made;
  GetParam().change(made);
  EXPECT_EQ(made.lines(), GetParam().lines);
}

INSTANTIATE_TEST_SUITE_P(Table, Verdict, testing::ValuesIn(cases()),
                         [](const auto& test) { return test.param.name; });

TEST(VerdictLists, ManyDevicesShareALine) {
  RunNumbers numbers{.times = {.forward = 1}, .labels = {}, .first = 0, .end = 8};
  MadeSteps steps(8);
  DeviceHistory history(8);
  for (int d = 0; d < 8; ++d) {
    numbers.labels.push_back({"rank 0 cuda:" + std::to_string(d), 1});
    steps.devices[static_cast<size_t>(d)].busy = 0.5;
  }
  steps.step_ms = 1000;
  for (int i = 0; i < 60; ++i) history.add(steps.at({}));
  EXPECT_THAT(verdict(numbers, history),
              ElementsAre("rank 0 cuda:0, rank 0 cuda:1, rank 0 cuda:2 and 5 more idle 50 %: they "
                          "cost the same"));
}

TEST(VerdictLists, OneDeviceWaitsForNoMessages) {
  RunNumbers numbers{
      .times = {.forward = 0.4, .reduce = 0.6}, .labels = {{"cpu:0", 1}}, .first = 0, .end = 1};
  MadeSteps steps(1);
  DeviceHistory history(1);
  for (int i = 0; i < 60; ++i) history.add(steps.at({10}));
  EXPECT_THAT(verdict(numbers, history), IsEmpty());
}

}  // namespace
}  // namespace spire
