// Timelines: every op of the plan once per tower and step, spans that nest and fit into their step,
// the same bits, and a file in the Trace Event Format.
#include <map>
#include <mutex>
#include <set>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "engine/base/read_file.h"
#include "engine/base/thread.h"
#include "engine/run/trace_events.h"
#include "tests/process/ranks.h"
#include "tests/run/made_run.h"
#include "tests/train/small_run.h"

namespace spire {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Json = nlohmann::json;

// Windows of steps [first, last] of a run of 10 steps; by rank.
struct Traced {
  std::map<int, std::vector<TracedThread>> threads;
  uint64_t hash = 0;
};

Traced trace(const SmallRun& run, int64_t first, int64_t last) {
  std::mutex mutex;
  Traced traced;
  on_ranks(run, [&](Trainer& trainer) {
    ImageDataset data = run.dataset();
    BatchLoader loader(data, run.loading_ahead(trainer));
    std::vector<TracedThread> threads;
    trainer.team().lead([&] {
      loader.start(0, 0, INT64_MAX);
      for (int64_t step = 1; step <= 10; ++step) {
        if (step == first) trainer.begin_trace();
        trainer.step(loader.next(), step - 1, run.optimizer.lr);
        if (step == last) threads = trainer.end_trace();
      }
      loader.stop();
    });
    std::scoped_lock lock(mutex);
    traced.threads[trainer.placement().rank] = std::move(threads);
    traced.hash = trainer.parameter_hash();
  });
  return traced;
}

// Names of the ops of a tower with this many samples, in the order of its plan.
std::vector<std::string> ops_of(const SmallRun& run, int64_t samples) {
  if (samples == 0) return {};
  TrainerOptions options = run.options();
  auto build = [&](int64_t batch) {
    return build_model(options.model, options.loss, options.input(batch, true), true);
  };
  ParameterLayout layout =
      make_layout([&](int64_t batch, bool) { return build(batch); }, run.batch_size);
  LoweredGraph lowered = lower_for_training(build(samples), {}, layout, run.recompute);
  std::vector<std::string> names;
  for (const Node& node : lowered.graph.nodes())
    if (!node.op->is_view()) names.emplace_back(node.op->name());
  return names;
}

// Fails unless each span lies within the one that was open when it began.
void expect_nested(const TracedThread& thread) {
  std::vector<const RecordedSpan*> open;
  for (const RecordedSpan& span : thread.spans) {
    EXPECT_LE(span.begin, span.end) << span.text;
    while (!open.empty() && open.back()->end <= span.begin &&
           !(open.back()->begin == span.begin && open.back()->end == span.end))
      open.pop_back();
    if (!open.empty()) {
      EXPECT_LE(span.end, open.back()->end) << span.text << " within " << open.back()->text;
    }
    open.push_back(&span);
  }
}

// Sums of the durations of a kind's spans, by step.
std::map<int64_t, int64_t> durations(const TracedThread& thread, SpanKind kind) {
  std::map<int64_t, int64_t> sums;
  for (const RecordedSpan& span : thread.spans)
    if (span.kind == kind) sums[span.step] += span.end - span.begin;
  return sums;
}

using OpsOfTowers = std::map<std::pair<int64_t, int64_t>, std::vector<std::string>>;  // step, tower

void collect_ops(const TracedThread& thread, OpsOfTowers& ops) {
  for (const RecordedSpan& span : thread.spans) {
    if (span.kind != SpanKind::op) continue;
    ops[{span.step, span.number}].push_back(span.text.substr(0, span.text.find(" of ")));
  }
}

// Samples of tower `tower` in step `step`, from 1.
int64_t samples_of(const SmallRun& run, int64_t step, int64_t tower) {
  int64_t global = run.batch_size * run.towers, per_epoch = (run.samples + global - 1) / global;
  int64_t valid = std::min(global, run.samples - (step - 1) % per_epoch * global);
  return std::clamp<int64_t>(valid - tower * run.batch_size, 0, run.batch_size);
}

void expect_whole(const SmallRun& run, const Traced& traced, int64_t first, int64_t last) {
  OpsOfTowers ops;
  for (const auto& [rank, threads] : traced.threads) {
    for (const TracedThread& thread : threads) {
      expect_nested(thread);
      auto steps = durations(thread, SpanKind::step);
      for (SpanKind kind : {SpanKind::op, SpanKind::part})
        for (auto [step, sum] : durations(thread, kind)) EXPECT_LE(sum, steps.at(step));
      collect_ops(thread, ops);
    }
  }
  for (int64_t step = first; step <= last; ++step) {
    for (int64_t tower = 0; tower < run.towers; ++tower) {
      EXPECT_EQ((ops[{step, tower}]), ops_of(run, samples_of(run, step, tower)))
          << "tower " << tower << " of step " << step;
    }
  }
  EXPECT_EQ(std::ssize(ops), (last - first + 1) * run.towers);
}

// Step 7 ends the epoch with 7 of 16 samples: one tower is whole, one ragged, two have none.
TEST(Timeline, HasEveryOpOncePerTowerAndStep) {
  for (int ranks : {1, 2}) {
    for (const char* strategy : {"parameter_device", "sharded"}) {
      SmallRun run;
      run.ranks = ranks;
      run.strategy = strategy;
      run.devices = {"cpu:0", "cpu:1"};
      Traced traced = trace(run, 6, 8);
      EXPECT_EQ(std::ssize(traced.threads), ranks);
      EXPECT_EQ(std::ssize(traced.threads[0]), ranks == 1 ? 2 : 3);  // lanes, and the exchange
      expect_whole(run, traced, 6, 8);
      EXPECT_EQ(traced.hash, hash_after(run, 10)) << "a timeline changes bits";
    }
  }
}

TEST(Timeline, HasEveryBucketOnceOnTheExchangeThread) {
  SmallRun run;
  run.model.hidden = {512};  // enough for several buckets
  run.ranks = 2;
  Traced traced = trace(run, 3, 4);
  const TracedThread& thread = traced.threads.at(1).back();
  EXPECT_EQ(thread.name, "exchange");
  std::map<int64_t, std::vector<int64_t>> buckets;
  for (const RecordedSpan& span : thread.spans)
    if (span.kind == SpanKind::bucket && span.number >= 0)
      buckets[span.step].push_back(span.number);
  ASSERT_GT(buckets[3].size(), 1u);
  for (const auto& [step, numbers] : buckets)
    for (size_t i = 0; i < numbers.size(); ++i) EXPECT_EQ(numbers[i], static_cast<int64_t>(i));
  EXPECT_EQ(buckets[3], buckets[4]);
  EXPECT_EQ(buckets.size(), 2u);
}

TEST(Timeline, OfAJudgedRunAndOfSyncBatchNormNestsToo) {
  SmallRun judged;
  judged.judged = true;
  expect_whole(judged, trace(judged, 2, 2), 2, 2);
  SmallRun sync;
  sync.model.normalization = ModelConfig::Normalization::batch_norm;
  sync.model.batch_norm = ModelConfig::BatchNorm::sync;
  sync.devices = {"cpu:0", "cpu:1"};
  Traced traced = trace(sync, 2, 3);
  for (const TracedThread& thread : traced.threads[0]) expect_nested(thread);
  EXPECT_EQ(traced.hash, hash_after(sync, 10));
}

TEST(TraceEvents, AreWholeNumbersOfNanoseconds) {
  TracedThread thread{"cpu:0",
                      {{SpanKind::step, "step", 4, 4, 1'000'500, 3'000'001},
                       {SpanKind::op, "relu of \"a\\b\"", 2, 4, 2'000'007, 2'000'007}}};
  std::string text =
      trace_events({.rank = 3, .name = "rank 3", .origin = 1'000'000, .threads = {thread}});
  Json events = Json::parse("[" + text + "]");
  ASSERT_EQ(events.size(), 5u);
  EXPECT_EQ(events[3], Json::parse(R"({"ph":"X","pid":3,"tid":0,"ts":0.5,"dur":1999.501,
      "name":"step 4","cat":"step","args":{"step":4}})"));
  EXPECT_EQ(events[4], Json::parse(R"({"ph":"X","pid":3,"tid":0,"ts":1000.007,"dur":0.0,
      "name":"relu of \"a\\b\"","cat":"op","args":{"step":4,"tower":2}})"));
}

// The parts of the Trace Event Format that the file uses, as its description has them.
void expect_format(const Json& file) {
  ASSERT_TRUE(file.is_object());
  ASSERT_TRUE(file["traceEvents"].is_array());
  EXPECT_EQ(file["displayTimeUnit"], "ms");
  EXPECT_TRUE(file["otherData"].is_object());
  std::map<std::pair<int, int>, std::vector<std::pair<double, double>>> open;
  for (const Json& event : file["traceEvents"]) {
    ASSERT_TRUE(event["pid"].is_number_integer() && event["tid"].is_number_integer());
    ASSERT_TRUE(event["name"].is_string());
    if (event["ph"] == "M") {
      ASSERT_TRUE(event["args"].is_object());
      continue;
    }
    ASSERT_EQ(event["ph"], "X");
    double begin = event["ts"].get<double>(), end = begin + event["dur"].get<double>();
    ASSERT_GE(begin, 0);
    ASSERT_GE(end, begin);
    ASSERT_TRUE(event["cat"].is_string());
    auto& stack = open[{event["pid"].get<int>(), event["tid"].get<int>()}];
    constexpr double rounding = 1e-4;  // us: of sums of such decimals
    while (!stack.empty() && stack.back().second <= begin + rounding && stack.back().second < end)
      stack.pop_back();
    if (!stack.empty()) {
      EXPECT_LE(end, stack.back().second + rounding) << event;
    }
    stack.emplace_back(begin, end);
  }
}

// Instead of MadeRuns' table, in which a row makes runs diverge.
const Words made_images = {"data.name=synthetic",      "data.synthetic.shape=[8, 8, 1]",
                           "data.synthetic.classes=4", "data.path=auto",
                           "data.csv.target=last",     "data.csv.task=auto"};

Json read_trace(const std::filesystem::path& path) {
  return Json::parse(read_file_if_there(path, Category::data).value_or("null"));
}

std::set<int64_t> steps_of(const Json& file) {
  std::set<int64_t> steps;
  for (const Json& event : file["traceEvents"])
    if (event["ph"] == "X") steps.insert(event["args"]["step"].get<int64_t>());
  return steps;
}

RunOptions with_timeline(const std::filesystem::path& path, int64_t first = 0, int64_t last = 0) {
  RunOptions options;
  options.timeline = TimelineOptions{path.string(), first, last};
  return options;
}

TEST(TimelineFile, HasTheStepsOfTheWindow) {
  MadeRuns runs;
  auto plain = runs.train("plain", made_images);
  struct Case {
    int64_t first, last;
    std::set<int64_t> steps;
  };
  for (const Case& window :
       {Case{0, 0, {11, 12, 13}}, Case{4, 5, {4, 5}}, Case{1, 1, {1}}, Case{23, 99, {23, 24}}}) {
    Reports reports;
    auto result = runs.train("traced", made_images, reports,
                             with_timeline(runs / "t.json", window.first, window.last));
    EXPECT_EQ(result.summary.parameter_hash, plain.summary.parameter_hash);
    Json file = read_trace(runs / "t.json");
    expect_format(file);
    EXPECT_EQ(steps_of(file), window.steps);
  }
  Reports reports;
  runs.train("short", made_images + Words{"steps=2"}, reports, with_timeline(runs / "t.json"));
  EXPECT_EQ(steps_of(read_trace(runs / "t.json")), (std::set<int64_t>{1, 2}));
}

TEST(TimelineFile, HasAllRanks) {
  MadeRuns runs;
  auto worlds = threads_world(3, {.cores = allowed_cores(), .on_exit_timeout = {}});
  run_ranks(3, [&](int rank) {
    RunOptions options = with_timeline(runs / "t.json", 2, 3);
    options.world = worlds[static_cast<size_t>(rank)].get();
    Reports reports;
    runs.train("ranks", made_images, reports, options);
  });
  Json file = read_trace(runs / "t.json");
  expect_format(file);
  std::map<int, std::set<std::string>> threads;
  for (const Json& event : file["traceEvents"])
    if (event["name"] == "thread_name")
      threads[event["pid"].get<int>()].insert(event["args"]["name"].get<std::string>());
  EXPECT_EQ(threads.size(), 3u);
  for (const auto& [rank, names] : threads)
    EXPECT_THAT(names, ::testing::Contains("loop over steps"));
}

TEST(TimelineFile, IsRefusedBeforeTheRun) {
  MadeRuns runs;
  Reports reports;
  for (const RunOptions& options :
       {with_timeline(runs / "t.json", 25, 26), with_timeline(runs / "none" / "t.json"),
        with_timeline(runs / "table")}) {
    try {
      runs.train("refused", made_images, reports, options);
      ADD_FAILURE() << options.timeline->path;
    } catch (const Error& error) {
      EXPECT_EQ(error.category(), Category::config) << error.what();
    }
    EXPECT_FALSE(std::filesystem::exists(runs / "refused" / "config.yaml"));
  }
}

TEST(TimelineFile, OfAWindowThatIsOverIsAWarning) {
  MadeRuns runs;
  runs.train("resumed", made_images + Words{"steps=12", "checkpoint.every_steps=12"});
  Reports reports;
  RunOptions options = with_timeline(runs / "t.json", 3, 4);
  options.resume = "auto";
  runs.train("resumed", made_images, reports, options);
  EXPECT_THAT(reports.warnings, ::testing::Contains(HasSubstr("there will be no timeline")));
  EXPECT_FALSE(std::filesystem::exists(runs / "t.json"));
}

TEST(TimelineFile, OfAStoppedRunHasTheStepsThatItDid) {
  MadeRuns runs;
  std::atomic<bool> stop = false;
  class Stopper : public Reports {
   public:
    explicit Stopper(std::atomic<bool>& stop) : stop_(stop) {}
    void on_step(const StepReport& step) override {
      Reports::on_step(step);
      if (step.step == 5) stop_ = true;
    }

   private:
    std::atomic<bool>& stop_;
  } reports(stop);
  RunOptions options = with_timeline(runs / "t.json", 4, 9);
  options.stop = &stop;
  EXPECT_EQ(runs.train("stopped", made_images, reports, options).exit_code, 75);
  Json file = read_trace(runs / "t.json");
  expect_format(file);
  EXPECT_EQ(steps_of(file), (std::set<int64_t>{4, 5}));
  EXPECT_EQ(file["otherData"]["last_step"], 5);
}

}  // namespace
}  // namespace spire
