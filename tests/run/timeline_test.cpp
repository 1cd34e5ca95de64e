// Timelines of whole runs: the steps of the window, the same bits, and a file in the Trace Event
// Format.
#include <map>
#include <set>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "engine/base/read_file.h"
#include "engine/base/thread.h"
#include "engine/run/run_timeline.h"
#include "tests/process/ranks.h"
#include "tests/run/made_run.h"

namespace spire {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

TEST(TraceEvents, AreWholeNumbersOfNanoseconds) {
  TracedThread thread{"cpu:0",
                      {{SpanKind::step, "step", 4, 4, 1'000'500, 3'000'001},
                       {SpanKind::op, "relu of \"a\\b\"", 2, 4, 2'000'007, 2'000'007}}};
  TraceEvents whole({.rank = 3, .name = "rank 3", .origin = 1'000'000, .threads = {thread}});
  std::string text = whole.next();
  EXPECT_EQ(whole.next(), "");
  Json events = Json::parse("[" + text + "]");
  ASSERT_EQ(events.size(), 5u);
  EXPECT_EQ(events[3], Json::parse(R"({"ph":"X","pid":3,"tid":0,"ts":0.5,"dur":1999.501,
      "name":"step 4","cat":"step","args":{"step":4}})"));
  EXPECT_EQ(events[4], Json::parse(R"({"ph":"X","pid":3,"tid":0,"ts":1000.007,"dur":0.0,
      "name":"relu of \"a\\b\"","cat":"op","args":{"step":4,"tower":2}})"));
}

TEST(TraceEvents, ComeInPiecesOfWholeEvents) {
  TracedProcess process{.rank = 1, .name = "rank 1", .origin = 0, .threads = {}};
  for (const char* name : {"lane 0", "no spans", "exchange"}) {
    process.threads.push_back({name, {}});
    if (process.threads.size() == 2) continue;
    for (int i = 0; i < 100; ++i)
      process.threads.back().spans.push_back({SpanKind::op, "relu", 0, 1, 10 * i, 10 * i + 5});
  }
  std::string joined;
  size_t pieces = 0;
  constexpr size_t most = 500;
  TraceEvents parts(process, most), whole(process, SIZE_MAX);
  for (std::string piece = parts.next(); !piece.empty(); piece = parts.next(), ++pieces) {
    EXPECT_LT(piece.size(), 2 * most);
    EXPECT_TRUE(Json::accept("[" + piece + "]")) << piece;
    joined += (joined.empty() ? "" : std::string(trace_between)) + piece;
  }
  EXPECT_GT(pieces, 10u);
  EXPECT_EQ(joined, whole.next());
  EXPECT_EQ(Json::parse("[" + joined + "]").size(), 7u + 200u);
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

// Here a folder takes its name meanwhile. Other ranks hand in their events all the same.
TEST(TimelineFile, ThatCannotBeWrittenAtTheEndLosesOnlyItself) {
  MadeRuns runs;
  class Blocker : public Reports {
   public:
    explicit Blocker(std::filesystem::path path) : path_(std::move(path)) {}
    void on_step(const StepReport& step) override {
      Reports::on_step(step);
      if (step.step == 2) std::filesystem::create_directory(path_);
    }

   private:
    std::filesystem::path path_;
  } reports(runs / "t.json");
  auto worlds = threads_world(2, {.cores = allowed_cores(), .on_exit_timeout = {}});
  run_ranks(2, [&](int rank) {
    RunOptions options = with_timeline(runs / "t.json", 2, 3);
    options.world = worlds[static_cast<size_t>(rank)].get();
    Reports others;
    EXPECT_THROW(runs.train("run", made_images, rank == 0 ? reports : others, options), Error);
  });
  EXPECT_EQ(reports.steps.size(), 24u);
  EXPECT_THAT(reports.warnings,
              ::testing::Contains(HasSubstr("training continues without the timeline")));
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
  Reports reports(5);
  RunOptions options = with_timeline(runs / "t.json", 4, 9);
  options.stop = &reports.stop;
  EXPECT_EQ(runs.train("stopped", made_images, reports, options).exit_code, 75);
  Json file = read_trace(runs / "t.json");
  expect_format(file);
  EXPECT_EQ(steps_of(file), (std::set<int64_t>{4, 5}));
  EXPECT_EQ(file["otherData"]["last_step"], 5);
}

}  // namespace
}  // namespace spire
