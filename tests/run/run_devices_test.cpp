// What a run tells about its devices: reports in each step, a line each in metrics.jsonl, and the
// one that is slow by name.
#include "engine/run/run_devices.h"

#include <chrono>
#include <sstream>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "engine/base/read_file.h"
#include "engine/base/thread.h"
#include "tests/process/ranks.h"
#include "tests/run/made_run.h"

namespace spire {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

const Words on_two = {"data.name=synthetic",
                      "data.synthetic.shape=[8, 8, 1]",
                      "data.synthetic.samples=96",
                      "data.synthetic.test_samples=8",
                      "data.synthetic.classes=4",
                      "model.name=mlp",
                      "model.hidden=[16]",
                      "batch_size=8",
                      "towers=2",
                      "tower_threads=1",
                      "devices=2xcpu",
                      "steps=24",
                      "log.every_steps=1",
                      "eval.every_epochs=0",
                      "checkpoint.every_epochs=0"};

// What is read of StepReport::devices, which is valid in on_step alone.
class DeviceKeeper : public Observer {
 public:
  void on_step(const StepReport& step) override {
    steps.emplace_back(step.devices.begin(), step.devices.end());
  }
  void on_warning(std::string_view text) override { warnings.emplace_back(text); }

  // Number of steps in which a device arrived after all others.
  int last(size_t device) const {
    return static_cast<int>(std::ranges::count_if(steps, [&](const auto& devices) {
      return std::ranges::all_of(devices, [&](const DeviceReport& other) {
        return &other == &devices[device] || other.arrival_ms < devices[device].arrival_ms;
      });
    }));
  }

  std::vector<std::vector<DeviceReport>> steps;
  std::vector<std::string> warnings;
};

// Makes a thread work for some milliseconds longer at each forward.
PhaseHook slowed(const std::string& thread) {
  return [thread](const PhaseRow& row) {
    if (row.phase != Phase::forward || row.thread != thread) return;
    auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(3);
    while (std::chrono::steady_clock::now() < end) {
    }
  };
}

class RunOfDevices : public testing::Test {
 protected:
  RunResult train(const Words& more, Observer& observer, RunOptions options = {}) const {
    options.overwrite = !options.resume;
    Words words = on_two + more + Words{"output=" + (folder_ / "run").string()};
    return spire::train(parse_config({}, words).config, options, observer);
  }
  std::vector<json> device_lines() const {
    std::vector<json> lines;
    std::istringstream text(
        read_file_if_there(folder_ / "run/metrics.jsonl", Category::data).value());
    for (std::string line; std::getline(text, line);)
      if (json record = json::parse(line); record.contains("device")) lines.push_back(record);
    return lines;
  }

  MadeRuns folder_;
};

TEST_F(RunOfDevices, EachStepHasAReportOfEachDevice) {
  DeviceKeeper keeper;
  train({"monitor.every_seconds=0.001"}, keeper);
  ASSERT_EQ(keeper.steps.size(), 24u);
  for (const auto& devices : keeper.steps) {
    ASSERT_EQ(devices.size(), 2u);
    for (const DeviceReport& device : devices) EXPECT_GT(device.arrival_ms, 0);
  }
  EXPECT_THAT(keeper.warnings, IsEmpty());
}

TEST_F(RunOfDevices, TheMonitorChangesNoBit) {
  Observer silent;
  std::string with = train({"monitor.every_seconds=0.001"}, silent).summary.parameter_hash;
  DeviceKeeper keeper;
  EXPECT_EQ(train({"monitor.every_seconds=0"}, keeper).summary.parameter_hash, with);
  for (const DeviceReport& device : keeper.steps.back()) {  // without it arrivals are all there is
    EXPECT_GT(device.arrival_ms, 0);
    EXPECT_FALSE(device.busy || device.memory_used || device.memory_total);
  }
}

TEST_F(RunOfDevices, MetricsHaveALineOfEachDeviceAndRecordedStep) {
  Reports reports;
  train({"log.every_steps=8"}, reports);
  std::vector<std::pair<int64_t, std::string>> lines;
  for (const json& line : device_lines()) {
    lines.emplace_back(line["step"], line["device"]);
    EXPECT_EQ(line["rank"], 0);
    EXPECT_GT(line["device/arrival_ms"], 0);
  }
  std::vector<std::pair<int64_t, std::string>> expected;
  for (int64_t step : {8, 16, 24})
    for (const char* device : {"cpu:0", "cpu:1"}) expected.emplace_back(step, device);
  EXPECT_EQ(lines, expected);
}

// What was written after the checkpoint at step 15 goes, also of devices.
TEST_F(RunOfDevices, AResumedRunCutsTheirLinesOff) {
  Reports first, second;
  train({"checkpoint.every_steps=15"}, first);
  std::filesystem::remove(folder_ / "run/checkpoints/step_00000024.h5");
  RunOptions options;
  options.resume = "auto";
  train({}, second, options);
  EXPECT_EQ(second.steps.front().step, 16);
  std::map<std::pair<int64_t, std::string>, int> lines;
  for (const json& line : device_lines()) ++lines[{line["step"], line["device"]}];
  EXPECT_EQ(lines.size(), 2u * 24);
  for (const auto& [key, count] : lines) EXPECT_EQ(count, 1) << key.first << " " << key.second;
}

TEST_F(RunOfDevices, ASlowDeviceIsNamed) {
  DeviceKeeper keeper;
  RunOptions options;
  options.on_phase = slowed("cpu:1");
  RunSummary summary = train({"steps=60"}, keeper, options).summary;
  EXPECT_GT(keeper.last(1), 45);
  EXPECT_THAT(summary.verdict, Contains(AllOf(StartsWith("cpu:1 arrives last in "),
                                              HasSubstr(" after the median: "))));
}

TEST_F(RunOfDevices, ASlowDeviceOfAnotherProcessIsNamed) {
  auto worlds = threads_world(2, {.cores = allowed_cores(), .on_exit_timeout = {}});
  DeviceKeeper keeper;
  RunSummary summary;
  run_ranks(2, [&](int rank) {
    Observer silent;
    RunOptions options;
    options.world = worlds[static_cast<size_t>(rank)].get();
    if (rank == 1) options.on_phase = slowed("cpu:0");
    Words words = {"steps=60", "devices=1xcpu"};
    RunSummary own =
        train(words, rank == 0 ? static_cast<Observer&>(keeper) : silent, options).summary;
    if (rank == 0) summary = own;
  });
  for (const auto& devices : keeper.steps) ASSERT_EQ(devices.size(), 2u);
  EXPECT_GT(keeper.last(1), 45);
  EXPECT_THAT(summary.verdict, Contains(StartsWith("rank 1 cpu:0 arrives last in ")));
}

}  // namespace
}  // namespace spire
