#include "engine/observe/json_files.h"

#include <sstream>
#include <sys/stat.h>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "tests/base/file_size_limit.h"
#include "tests/base/message_of.h"
#include "tests/observe/reports.h"

namespace spire {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Metrics : public ::testing::Test {
 protected:
  // Runs the steps first..last, with an evaluation every fifth step; there is no end of the run, as
  // if it was killed.
  void run(int64_t first, int64_t last, bool resumed) {
    MetricsFile metrics(
        path, [this](std::string_view text) { warnings.emplace_back(text); }, clock.function());
    StartInfo start = sample_start();
    start.resumed_from = resumed ? "step.h5" : "";
    start.resumed_step = first - 1;
    metrics.on_start(start);
    for (int64_t step = first; step <= last; ++step) {
      metrics.on_step(sample_step(step));
      if (step % 5 == 0) metrics.on_eval(sample_eval(step));
    }
  }

  std::vector<int64_t> steps_in_file() const {
    std::vector<int64_t> steps;
    std::istringstream lines(content_of(path));
    for (std::string line; std::getline(lines, line);) steps.push_back(json::parse(line)["step"]);
    return steps;
  }

  Folder folder;
  std::filesystem::path path = folder / "metrics.jsonl";
  ManualClock clock;
  std::vector<std::string> warnings;
};

TEST_F(Metrics, Golden) {
  run(5, 5, false);
  EXPECT_EQ(content_of(path),
            R"({"time":"2026-01-31T12:00:00Z","step":5,"epoch":3.42,"samples_seen":1280,)"
            R"("train/loss":0.12345,"train/accuracy":0.912,"train/lr":0.0942,)"
            R"("train/grad_norm":0.91,"perf/samples_per_s":3912.4,"perf/step_ms":65.4,)"
            R"("time/data_wait_ms":1.25,"time/copy_ms":0.0,"time/forward_ms":16.5,)"
            R"("time/backward_ms":33.0,"time/comm_wait_ms":0.25,"time/update_ms":8.5,)"
            R"("time/replicate_ms":5.0,"time/other_ms":1.0})"
            "\n"
            R"({"time":"2026-01-31T12:00:00Z","step":5,"epoch":3.0,"val/loss":0.2501,)"
            R"("val/accuracy":0.9132,"val/samples":10000,"time/eval_s":1.23})"
            "\n");
  EXPECT_THAT(warnings, IsEmpty());
}

// What is told before there is a file is on the console alone. A path need not be UTF-8.
TEST_F(Metrics, HaveTheWarningsOfTheRun) {
  MetricsFile metrics(path, nullptr, clock.function());
  metrics.on_warning("before");
  StartInfo start = sample_start();
  start.resumed_step = 4;
  metrics.on_start(start);
  metrics.on_warning("cuda:1 is hot");
  StepReport step = sample_step(5);
  step.record = false;
  metrics.on_step(step);
  metrics.on_warning("runs/\xff");
  EXPECT_EQ(content_of(path),
            R"({"time":"2026-01-31T12:00:00Z","step":4,"warning":"cuda:1 is hot"})"
            "\n"
            "{\"time\":\"2026-01-31T12:00:00Z\",\"step\":5,\"warning\":\"runs/\uFFFD\"}\n");
}

TEST_F(Metrics, OnlyRecordedStepsAndNumbersThatAreNotFiniteAreNull) {
  MetricsFile metrics(path, nullptr, clock.function());
  metrics.on_start(sample_start());
  StepReport step = sample_step();
  step.record = false;
  metrics.on_step(step);
  EXPECT_EQ(content_of(path), "");
  step.record = true;
  step.loss = std::numeric_limits<double>::quiet_NaN();
  step.grad_norm = std::numeric_limits<double>::infinity();
  metrics.on_step(step);
  json record = json::parse(content_of(path));
  EXPECT_TRUE(record["train/loss"].is_null());
  EXPECT_TRUE(record["train/grad_norm"].is_null());
}

TEST_F(Metrics, StepsOfFp16HaveTheLossScale) {
  MetricsFile metrics(path, nullptr, clock.function());
  metrics.on_start(sample_start());
  StepReport step = sample_step();
  step.loss_scale = 32768;
  step.skipped_steps = 3;
  metrics.on_step(step);
  json record = json::parse(content_of(path));
  EXPECT_EQ(record["train/loss_scale"], 32768);
  EXPECT_EQ(record["train/skipped_steps"], 3);
}

// Readers tell the lines apart by rank and name.
TEST_F(Metrics, LogicalDevicesOfAGpuHaveNamesOfTheirOwn) {
  MetricsFile metrics(path, nullptr, clock.function());
  StartInfo start = sample_start();
  start.devices = {{"cuda:0", "", 1, {}}, {"cuda:0", "", 1, {}}};
  metrics.on_start(start);
  std::vector<DeviceReport> devices(2);
  StepReport step = sample_step(7);
  step.devices = devices;
  metrics.on_step(step);
  std::string text = content_of(path);
  EXPECT_THAT(text, HasSubstr(R"("device":"cuda:0","rank":0,)"));
  EXPECT_THAT(text, HasSubstr(R"("device":"cuda:0#2","rank":0,)"));
}

TEST_F(Metrics, DevicesHaveALineEachWithoutEmptyValues) {
  MetricsFile metrics(path, nullptr, clock.function());
  metrics.on_start(sample_start_of_two());
  std::vector<DeviceReport> devices(2);
  DeviceReport& first = devices[0];
  first.arrival_ms = 12.5;
  first.busy = 0.75;
  first.memory_used = 5u << 20;
  first.memory_total = uint64_t{8} << 30;
  first.celsius = 61;
  first.watts = 250.5;
  first.clock_mhz = 1410;
  first.throttle_reasons = {"power cap", "heat"};
  devices[1].arrival_ms = 13;
  StepReport step = sample_step(7);
  step.devices = devices;
  metrics.on_step(step);
  step.record = false;
  metrics.on_step(step);
  std::string text = content_of(path);
  EXPECT_EQ(text.substr(text.find('\n') + 1),
            R"({"time":"2026-01-31T12:00:00Z","step":7,"device":"cpu:0","rank":0,)"
            R"("device/arrival_ms":12.5,"device/busy":0.75,"device/memory_used_bytes":5242880,)"
            R"("device/memory_total_bytes":8589934592,"device/celsius":61.0,"device/watts":250.5,)"
            R"("device/clock_mhz":1410,"device/throttled":["power cap","heat"]})"
            "\n"
            R"({"time":"2026-01-31T12:00:00Z","step":7,"device":"cpu:0","rank":1,)"
            R"("device/arrival_ms":13.0})"
            "\n");
  EXPECT_EQ(metrics_through(text, 6), "");
}

TEST_F(Metrics, ALineIsWrittenAtOnce) {
  MetricsFile metrics(path, nullptr, clock.function());
  metrics.on_start(sample_start());
  metrics.on_checkpoint({7, "step.h5", 100, 0.5, 12.25});
  EXPECT_EQ(content_of(path), R"({"time":"2026-01-31T12:00:00Z","step":7,"checkpoint/bytes":100,)"
                              R"("checkpoint/snapshot_ms":0.5,"checkpoint/write_ms":12.25})"
                              "\n");
}

// The run is killed after step 17, with a torn last line, and resumed at step 10.
TEST_F(Metrics, AKilledAndResumedRunEqualsAnUninterruptedOne) {
  run(1, 20, false);
  std::string uninterrupted = content_of(path);
  run(1, 17, false);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 30);
  run(11, 20, true);
  EXPECT_EQ(content_of(path), uninterrupted);
  EXPECT_THAT(warnings, IsEmpty());
}

TEST_F(Metrics, ANewRunStartsAnEmptyFileAndAResumedRunNeedsNoFile) {
  run(1, 3, false);
  run(1, 1, false);
  std::string one = content_of(path);
  EXPECT_EQ(std::count(one.begin(), one.end(), '\n'), 1);
  std::filesystem::remove(path);
  run(4, 4, true);
  EXPECT_EQ(json::parse(content_of(path))["step"], 4);
}

TEST(MetricsThrough, DropsLaterTornAndForeignLines) {
  std::string text =
      "{\"step\":1}\nnonsense\n{\"step\":3}\n[1]\n{\"a\":1}\n{\"step\":\"1\"}\n{\"step\":2}\n{"
      "\"step\":1";
  EXPECT_EQ(metrics_through(text, 2), "{\"step\":1}\n{\"step\":2}\n");
  EXPECT_EQ(metrics_through("", 2), "");
  EXPECT_EQ(metrics_through(R"({"step":1,"test/loss":2}
{"step":2}
)",
                            2),
            "{\"step\":2}\n")
      << "the run goes on, and is tested again at its end";
  std::string evaluated = "{\"step\":2,\"val/loss\":1}\n";
  EXPECT_EQ(metrics_through(evaluated, 2), evaluated);
  EXPECT_EQ(metrics_through(evaluated, 2, true), "");
}

TEST(MetricsThrough, DropsACheckpointThatIsWrittenAgain) {
  std::string before = "{\"step\":1,\"checkpoint/bytes\":9}\n{\"step\":2}\n";
  std::string last = "{\"step\":2,\"checkpoint/bytes\":9}\n";
  EXPECT_EQ(metrics_through(before + last, 2), before + last);
  EXPECT_EQ(metrics_through(before + last, 2, true), before);
}

// The error comes before the first step, and no call waits for a reader of the FIFO.
TEST_F(Metrics, AnUnwritableFileIsAnErrorAtTheStart) {
  std::filesystem::path own = path;
  auto refusal = [&](bool resumed) {
    return message_of(Category::config, [&] { run(4, 4, resumed); });
  };
  path = folder / "absent" / "metrics.jsonl";
  EXPECT_THAT(refusal(false), HasSubstr("No such file or directory"));
  path = own;
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_THAT(refusal(false), HasSubstr("is a FIFO"));
  EXPECT_THAT(refusal(true), HasSubstr("is a FIFO"));
  SummaryFile summary(path, nullptr);
  EXPECT_THAT(message_of(Category::config, [&] { summary.on_start(sample_start()); }),
              HasSubstr("is a FIFO"));
}

TEST_F(Metrics, AFileThatIsRemovedIsWrittenAnewWithAllItsLines) {
  MetricsFile metrics(
      path, [this](std::string_view text) { warnings.emplace_back(text); }, clock.function());
  metrics.on_start(sample_start());
  for (int64_t step = 1; step <= 5; ++step) {
    if (step == 2) std::filesystem::remove(path);
    if (step == 3) std::filesystem::rename(path, folder / "moved");
    if (step == 4) std::filesystem::remove_all(path);
    metrics.on_step(sample_step(step));
  }
  EXPECT_THAT(steps_in_file(), ElementsAre(1, 2, 3, 4, 5));
  EXPECT_EQ(warnings.size(), 3u);
  EXPECT_THAT(warnings[0], HasSubstr("was removed or replaced during the run"));
  EXPECT_EQ(metrics.lost(), "");
  std::filesystem::remove(path);
  std::ofstream(path) << "another file\n";
  metrics.on_step(sample_step(6));
  EXPECT_EQ(content_of(path), "another file\n");
  EXPECT_THAT(metrics.lost(), HasSubstr("metrics.jsonl lacks 1 line"));
}

// A limit on file sizes stands in for a full disk.
TEST_F(Metrics, AFullDiskCostsLinesNotTheRunAndNoLineIsTorn) {
  MetricsFile metrics(
      path, [this](std::string_view text) { warnings.emplace_back(text); }, clock.function());
  metrics.on_start(sample_start());
  metrics.on_step(sample_step(1));
  metrics.on_step(sample_step(2));
  {
    FileSizeLimit limit(std::filesystem::file_size(path) + 20);  // a part of one more line
    for (int64_t step = 3; step <= 5; ++step) metrics.on_step(sample_step(step));
  }
  EXPECT_EQ(warnings.size(), 1u);
  metrics.on_step(sample_step(6));

  EXPECT_THAT(steps_in_file(), ElementsAre(1, 2, 6));
  ASSERT_EQ(warnings.size(), 2u);
  EXPECT_THAT(warnings[0], HasSubstr("training continues"));
  EXPECT_THAT(warnings[1], HasSubstr("it lacks 3 lines"));
  EXPECT_THAT(metrics.lost(), HasSubstr("metrics.jsonl lacks 3 lines"));
}

TEST(Summary, HoldsWhatScriptsRead) {
  RunSummary run = sample_summary();
  run.verdict = {"cuda:1 idle 40 %: it costs the same"};
  json summary = json::parse(summary_json(run));
  EXPECT_EQ(summary, json::parse(R"({
    "steps": 2350, "epochs": 10.0, "train_loss": 0.1234,
    "val": {"loss": 0.2211, "accuracy": 0.9255, "best_accuracy": 0.9271, "data": "test"},
    "samples_per_s": 3912.4, "step_times_ms": {"data": 0.0, "copy": 0.0, "forward": 16.0,
      "backward": 32.0, "reduce": 0.0, "update": 8.0, "replicate": 0.0, "other": 1.0},
    "parameter_hash": "0123456789abcdef",
    "devices": ["cpu:0", "cpu:1"], "towers": 2, "processes": 2, "strategy": "sharded", "seconds": 151.3,
    "peak_memory_bytes": {"arena": 46137344, "host_rss": 209715200},
    "planned_memory_bytes": {"arena": 46137344},
    "verdict": ["cuda:1 idle 40 %: it costs the same"],
    "exit": 0, "stopped_by": "", "output": "runs/cnn",
    "checkpoint": "runs/cnn/checkpoints/step_00002350.h5", "metrics": "runs/cnn/metrics.jsonl"})"));
}

TEST(Summary, WithoutEvaluationsValIsNullAndInvalidUtf8IsReplaced) {
  RunSummary run = sample_summary();
  run.val = {};
  run.peak_memory_bytes.clear();
  run.planned_memory_bytes.clear();
  run.output = "runs/\xff";
  json summary = json::parse(summary_json(run));
  EXPECT_TRUE(summary["val"].is_null());
  EXPECT_TRUE(summary["peak_memory_bytes"].is_object());
  EXPECT_TRUE(summary["planned_memory_bytes"].is_object());
  EXPECT_EQ(summary["output"], "runs/\xEF\xBF\xBD");
}

TEST(Summary, IsReadAsItWasWritten) {
  RunSummary run = sample_summary();
  run.verdict = {"cuda:1 idle 40 %: it costs the same"};
  run.times.forward = 0.0625;
  EXPECT_EQ(summary_json(read_summary(summary_json(run)).value()), summary_json(run));
  run.train_loss = std::numeric_limits<double>::quiet_NaN();
  run.val.others = {{Metric::f1_macro, 0.5}, {Metric::auc, run.train_loss}};
  run.val.best_by = Metric::f1_macro;
  run.val.held_out = true;
  run.test = TestSummary{0.25, {Metric::accuracy, 0.75}, 7, {{Metric::f1_macro, 0.625}}};
  run.ema_hash = "00ff";
  run.chain = "ab12";
  run.exit = 75;
  EXPECT_EQ(summary_json(read_summary(summary_json(run)).value()), summary_json(run));
  run.val = {};
  run.test.reset();
  EXPECT_EQ(summary_json(read_summary(summary_json(run)).value()), summary_json(run));
}

// Of another version of Spire, or of no one.
TEST(Summary, WhatIsNoFieldKeepsItsDefault) {
  EXPECT_FALSE(read_summary("[1]"));
  EXPECT_FALSE(read_summary("{\"steps\":1"));
  auto read = read_summary(R"({"steps": 1e300, "exit": "x", "devices": 5, "seconds": "y",
                               "val": {"loss": "z", "data": 1, "best_": 2}, "test": 3})");
  EXPECT_EQ(read->steps, 0);
  EXPECT_EQ(read->exit, 1);  // a text without an exit code is no success
  EXPECT_TRUE(read->devices.empty());
  EXPECT_TRUE(read->val.measured);
  EXPECT_FALSE(read->test);
}

TEST(Summary, IsWrittenWholeOrAWarningIsGiven) {
  Folder folder;
  std::vector<std::string> warnings;
  auto warn = [&](std::string_view text) { warnings.emplace_back(text); };
  SummaryFile(folder / "summary.json", warn).on_end(sample_summary());
  EXPECT_EQ(content_of(folder / "summary.json"), summary_json(sample_summary()));
  SummaryFile(folder / "absent" / "summary.json", warn).on_end(sample_summary());
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_THAT(warnings[0], HasSubstr("absent/summary.json"));
  RunSummary nowhere = sample_summary();
  nowhere.output.clear();
  SummaryFile(folder / "summary2.json", warn).on_end(nowhere);
  EXPECT_FALSE(std::filesystem::exists(folder / "summary2.json"));
}

// Adds its mark to `calls` at each event.
class CallMarker : public Observer {
 public:
  CallMarker(std::string& calls, char mark) : calls_(calls), mark_(mark) {}
  void on_start(const StartInfo&) override { calls_ += mark_; }
  void on_step(const StepReport&) override { calls_ += mark_; }
  void on_eval(const EvalReport&) override { calls_ += mark_; }
  void on_checkpoint(const CheckpointReport&) override { calls_ += mark_; }
  void on_note(std::string_view) override { calls_ += mark_; }
  void on_warning(std::string_view) override { calls_ += mark_; }
  void on_end(const RunSummary&) override { calls_ += mark_; }

 private:
  std::string& calls_;
  char mark_;
};

TEST(ObserverList, CallsAllInOrder) {
  std::string calls;
  ObserverList list;
  list.on_warning("the list is empty");
  list.add(std::make_unique<CallMarker>(calls, 'a'));
  list.add(std::make_unique<CallMarker>(calls, 'b'));
  list.on_start({});
  list.on_step({});
  list.on_eval({});
  list.on_checkpoint({});
  list.on_note("");
  list.on_warning("");
  list.on_end({});
  EXPECT_EQ(calls, "ababababababab");
}

}  // namespace
}  // namespace spire
