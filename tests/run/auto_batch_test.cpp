// batch_size: auto: the largest batch that fits, kept by resumed runs, with the bits of a run whose
// config names that size.
#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <spire/plan.h>

#include "engine/base/thread.h"
#include "tests/base/message_of.h"
#include "tests/process/ranks.h"
#include "tests/run/made_run.h"

namespace spire {
namespace {

using testing::HasSubstr;

// Data for any batch up to the bound for CPUs, whose activations take most of the memory.
Words made_up(const Words& more) {
  return Words{"data.name=synthetic",
               "data.synthetic.kind=features",
               "data.synthetic.shape=[64]",
               "data.synthetic.samples=40000",
               "data.synthetic.test_samples=100",
               "model.name=mlp",
               "model.hidden=[64]",
               "tower_threads=1",
               "optimizer.lr=0.01",
               "checkpoint.snapshot=never",
               "steps=6",
               "checkpoint.every_epochs=0",
               "eval.every_epochs=0",
               "devices=1xcpu"} +
         more;
}

PlanReport plan_of(const Words& more) {
  return plan(parse_config({}, made_up(more)).config);
}

int64_t bytes_of(const DeviceInfo& device) {
  int64_t bytes = 0;
  for (const auto& [kind, of_kind] : device.planned_memory) bytes += of_kind;
  return bytes;
}

std::string word(std::string_view key, int64_t value) {
  return fmt::format("{}={}", key, value);
}

// The bytes that device `index` plans with this batch.
int64_t bytes_with(int64_t batch, const Words& more = {}, size_t index = 0) {
  return bytes_of(plan_of(more + Words{word("batch_size", batch)}).start.devices[index]);
}

std::string limit_word(int64_t bytes) {
  return fmt::format("memory.limit={}B", bytes);
}

TEST(AutoBatch, IsTheLargestThatFitsTheLimit) {
  for (auto [size, next] : {std::pair<int64_t, int64_t>{4, 8}, {16, 24}, {48, 56}, {112, 128}}) {
    std::string limit = limit_word(bytes_with(size));
    PlanReport report = plan_of({"batch_size=auto", limit});
    EXPECT_EQ(report.start.batch_size, size);
    EXPECT_EQ(report.shortage, "");
    EXPECT_NE(plan_of({word("batch_size", next), limit}).shortage, "");
    EXPECT_THAT(report.start.batch_note,
                testing::StartsWith(fmt::format("auto chose {0} (global batch {0} = 1 tower x {0}):"
                                                " {1} does not fit: cpu:0: cannot allocate ",
                                                size, next)));
    EXPECT_THAT(report.start.batch_note, HasSubstr("; memory.limit allows "));
  }
  int64_t needed = bytes_with(48);
  EXPECT_EQ(plan_of({"batch_size=auto", limit_word(needed - 1)}).start.batch_size, 40);
}

TEST(Plan, SaysForEachDeviceWhetherItFitsNow) {
  Words two = {"towers=2", "devices=2xcpu"};
  int64_t first = bytes_with(8, two, 0), second = bytes_with(8, two, 1);
  PlanReport report = plan_of({"towers=2", "batch_size=8",
                               fmt::format("devices=[cpu:0:{}B,cpu:1:{}B]", first, second - 1)});
  EXPECT_EQ(report.start.devices[0].fits_now, true);
  EXPECT_EQ(report.start.devices[1].fits_now, false);
  EXPECT_GT(report.start.devices[0].memory_free.value(), first);
  EXPECT_THAT(report.shortage, testing::StartsWith("cpu:1: cannot allocate "));
}

TEST(AutoBatch, IsOneThatDoesNotFitIfNoneDoes) {
  PlanReport report = plan_of({"batch_size=auto", limit_word(bytes_with(1) - 1)});
  EXPECT_EQ(report.start.batch_size, 1);
  EXPECT_THAT(report.shortage, HasSubstr("cannot allocate "));
}

TEST(AutoBatch, IsBoundedOnCpusAndByTheData) {
  StartInfo start = plan_of({"batch_size=auto"}).start;
  EXPECT_EQ(start.batch_size, 128);
  EXPECT_THAT(start.batch_note, HasSubstr("auto takes at most 128 on CPUs\n"
                                          "of the free memory, 10 % are not planned for"));
  start = plan_of({"batch_size=auto", "data.synthetic.samples=2400", "towers=2"}).start;
  EXPECT_EQ(start.batch_size, 24);  // 2400 / (2 x 24) = 50 steps
  EXPECT_THAT(start.batch_note, HasSubstr("fewer than 50 steps of an epoch of 2400 samples"));
}

TEST(AutoBatch, FitsTheSmallestDevice) {
  Words two = {"towers=2", "devices=2xcpu"};
  int64_t large = bytes_with(128, two, 0), small = bytes_with(24, two, 1);
  PlanReport report =
      plan_of({"towers=2", "batch_size=auto",
               fmt::format("devices=[{{cpu:0: {}B}}, {{cpu:1: {}B}}]", large, small)});
  EXPECT_EQ(report.start.batch_size, 24);
  EXPECT_THAT(report.start.batch_note, HasSubstr("cpu:1: cannot allocate "));
  EXPECT_EQ(report.shortage, "");
}

TEST(AutoBatch, KeepsTheGlobalBatchByTowers) {
  Words wide = {"devices=2xcpu", "data.synthetic.shape=[8]", "model.hidden=[256]"};
  Words two = wide + Words{"global_batch=96"};
  int64_t needed = bytes_with(24, wide + Words{"towers=4"});
  StartInfo start = plan_of(two + Words{"batch_size=auto", limit_word(2 * needed)}).start;
  EXPECT_EQ(start.batch_size, 24);
  EXPECT_EQ(start.towers, 4);
  EXPECT_EQ(plan_of(two + Words{"batch_size=auto"}).start.batch_size, 48);
  EXPECT_THAT(message_of(Category::config,
                         [&] {
                           plan_of({"batch_size=auto", "global_batch=2", "devices=3xcpu"});
                         }),
              HasSubstr("global_batch: 2 samples for 3 devices"));
}

class AutoBatchRun : public testing::Test {
 protected:
  RunResult run(const std::string& name, const Words& more, const RunOptions& options = {}) const {
    Reports reports;
    return spire::train(parse_config({}, words(name, more)).config, options, reports);
  }
  Words words(const std::string& name, const Words& more) const {
    return made_up(Words{"output=" + (folder_ / name).string()} + more);
  }
  std::string written(const std::string& name) const {
    return content_of(folder_ / name / "config.yaml");
  }

  MadeRuns folder_;
};

TEST_F(AutoBatchRun, HasTheBitsOfThatSizeAndKeepsItWhenResumed) {
  std::string limit = limit_word(bytes_with(48));
  Words automatic = {"batch_size=auto", limit};
  std::string hash = run("named", {"batch_size=48"}).summary.parameter_hash;
  EXPECT_EQ(run("chosen", automatic).summary.parameter_hash, hash);
  EXPECT_THAT(written("chosen"), HasSubstr("\nbatch_size: 48\n"));
  EXPECT_THAT(written("chosen"), HasSubstr("\ntowers: 1\n"));
  // Cut short, then resumed with more memory, on two devices, from the config as it was given.
  std::string both = limit_word(bytes_with(48, {"towers=2"}));
  run("cut", {"batch_size=auto", "towers=2", both, "steps=3"});
  RunOptions resume;
  resume.resume = "auto";
  resume.config_yaml = "batch_size: auto\nsteps: 6\n";
  RunResult whole = run("whole", {"batch_size=48", "towers=2"});
  RunResult resumed = run("cut", {"batch_size=auto", "devices=2xcpu"}, resume);
  EXPECT_EQ(resumed.summary.parameter_hash, whole.summary.parameter_hash);
  EXPECT_THAT(written("cut"), HasSubstr("\nbatch_size: 48\n"));
  EXPECT_THAT(written("cut"), HasSubstr("\ntowers: 2\n"));
  EXPECT_THAT(written("cut"), HasSubstr("\ntower_threads: 1\n"));
}

// The memory that each of them sees as free is that of all.
TEST_F(AutoBatchRun, ProcessesOfAHostShareItsFreeMemory) {
  auto worlds = threads_world(2, {.cores = allowed_cores(), .on_exit_timeout = {}});
  std::vector<Recorder> keepers(2);
  run_ranks(2, [&](int rank) {
    auto index = static_cast<size_t>(rank);
    RunOptions options;
    options.world = worlds[index].get();
    spire::train(parse_config({}, words("two", {"batch_size=auto", "steps=1"})).config, options,
                 keepers[index]);
  });
  EXPECT_THAT(keepers[0].start.batch_note,
              HasSubstr("10 % are not planned for; 2 processes of this host share "
                        "the rest equally"));
}

// The trial of the batch leaves it to the run to say what is wrong with a step.
TEST(AutoBatchTrial, LeavesBadStepsToTheRun) {
  MadeRuns runs;
  std::filesystem::create_directories(runs / "far");
  for (const char* name : {"train.csv", "test.csv"}) {
    std::ofstream file(runs / "far" / name);
    file << "a,b,y\n";
    for (int row = 0; row < 60; ++row)
      file << row % 7 << "," << row % 5 << ",1e2" << row % 9 << "\n";
  }
  for (const char* batch : {"batch_size=8", "batch_size=auto"}) {
    std::string text = message_of(Category::diverged, [&] {
      runs.train("run", {"data.path=" + (runs / "far").string(), "data.csv.scale_target=false",
                         batch, "guard.loss_zscore=1e9"});
    });
    EXPECT_THAT(text, HasSubstr("step 1: the run diverged: the loss is ")) << batch;
    EXPECT_THAT(text, HasSubstr("first bad tensor: ")) << batch;
  }
}

}  // namespace
}  // namespace spire
