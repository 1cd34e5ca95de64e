#include "engine/observe/report_text.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <limits>
#include <string>

#include <gmock/gmock.h>

#include "engine/observe/formatting.h"
#include "tests/observe/reports.h"

namespace spire {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TEST(StartBlock, Golden) {
  EXPECT_EQ(
      start_block(sample_start()),
      "model         cnn, 421 642 parameters, bf16\ndata          fashion_mnist, 60 000 samples "
      "for training, 10 000 for testing\ndevices       cpu:0  2 cores: 0-1  1 tower\n              "
      "cpu:1  2 cores: 2-3  1 tower\nglobal batch  256 = 2 towers × 128, 1 thread per "
      "tower\nstrategy      mirrored, invariant reduction\nlength        10 epochs × 235 steps = 2 "
      "350 steps\nmemory               weights  gradients  optimizer  comm     total\n             "
      " cpu:0  1.5 KiB  1.5 KiB    1.5 KiB    0 B      4.5 KiB\n              cpu:1  1.5 KiB  1.5 "
      "KiB    0 B        1.0 MiB  1.0 MiB\nrepeatable    bit for bit on 1 or 2 devices of this "
      "kind\noutput        runs/cnn\n");
}

// What a fact of the run adds to the block, and what a missing one leaves out.
struct BlockCase {
  const char* name;
  std::function<void(StartInfo&)> change;
  std::vector<std::string> shows, lacks = {};
};

std::vector<BlockCase> block_cases() {
  return {
      {"TheTaskAndWhyTheModelWasChosen",
       [](StartInfo& start) {
         start.model = "mlp";
         start.model_note = "auto: the data has features";
         start.task = "classify 4 features into 3 classes";
       },
       {"\nmodel         mlp (auto: the data has features), 421 642 parameters, bf16\n"
        "task          classify 4 features into 3 classes\n"
        "data          fashion_mnist"}},
      {"FrozenParameters",
       [](StartInfo& start) { start.frozen = 400000; },
       {"421 642 parameters, bf16\nfrozen        400 000 parameters; 21 642 are trained\ndata"}},
      {"CoresOnOneLine",
       [](StartInfo& start) { start.cores = "2 of 2, not pinned: the whole machine"; },
       {"\ncores         2 of 2, not pinned: the whole machine\nglobal batch"}},
      {"CoresOnALineARank",
       [](StartInfo& start) { start.cores = "rank 0 2 of 4\nrank 1 1 of 4"; },
       {"\ncores         rank 0 2 of 4\n              rank 1 1 of 4\nglobal batch"}},
      {"WhatIsFreeAndWhetherItFits",
       [](StartInfo& start) {
         start.devices[0].memory_free = 3 << 20;
         start.devices[0].fits_now = true;
         start.devices[1].fits_now = false;
       },
       {"  comm     total    free now  fits\n", "  0 B      4.5 KiB  3.0 MiB   yes\n",
        "  1.0 MiB  1.0 MiB  unknown   no\n"}},
      {"WhichBatchWasChosenAndWhy",
       [](StartInfo& start) { start.batch_note = "auto chose 128: no more fits\na tenth is free"; },
       {"thread per tower\nbatch_size    auto chose 128: no more fits\n"
        "              a tenth is free\n"}},
      {"DevicesOfSeveralProcessesWithRankAndHost",
       [](StartInfo& start) { start = sample_start_of_two(); },
       {"\nprocesses     2 over MPI (Open MPI v4.1.4)\n"
        "devices       rank 0  cpu:0  2 cores: 0-1  1 tower  anna\n"
        "              rank 1  cpu:0  2 cores: 2-3  1 tower  berta\n",
        "\nmemory                       weights  gradients  optimizer  comm     total\n"
        "              rank 0  cpu:0  1.5 KiB  1.5 KiB    1.5 KiB    0 B      4.5 KiB\n"
        "              rank 1  cpu:0  1.5 KiB  1.5 KiB    0 B        1.0 MiB  1.0 MiB\n"}},
      {"AGuaranteeOfTwoLines",
       [](StartInfo& start) {
         start.guarantee = "equal to rounding\n6 towers are no power of two";
       },
       {"\nrepeatable    equal to rounding\n              6 towers are no power of two\noutput "}},
      {"NoGuarantee", [](StartInfo& start) { start.guarantee = ""; }, {}, {"repeatable"}},
      {"WhatTheLastTowerTakes",
       [](StartInfo& start) { start.global_batch = 200; },
       {"\nglobal batch  200 = 2 towers × 128, the last 72, "}},
      {"HowTheRateGrowsWithTheGlobalBatch",
       [](StartInfo& start) {
         start.lr_scaling = "linear";
         start.base_lr = 0.1;
         start.lr = 0.1 * 256 / 64;
         start.base_batch = 64;
       },
       {"\nlr            0.4 = 0.1 × 4 (linear, global batch 256 / 64)\n"}},
      {"ThatTheRateDoesNot",
       [](StartInfo& start) {
         start.lr_scaling = "none";
         start.lr = 0.1;
       },
       {"\nlr            0.1, not scaled with the batch\n"}},
      {"WhereItResumesAndHowStepsOverrideEpochs",
       [](StartInfo& start) {
         start.resumed_from = "runs/cnn/checkpoints/step_00001200.h5";
         start.resumed_step = 1200;
         start.total_steps = 2000;
         start.towers = 1;
         start.global_batch = 128;
         start.tower_threads = 0;
         for (auto& device : start.devices) device.planned_memory.clear();
       },
       {"\nresumed       at step 1 200 from runs/cnn/checkpoints/step_0000",
        "\nlength        2 000 steps, 235 per epoch\n", "\nglobal batch  128 = 1 tower × 128\n"},
       {"memory", "recompute"}},
      {"WhatRecomputationSaves",
       [](StartInfo& start) {
         start.recompute =
             RecomputeInfo{.nodes = 12, .bytes = 203 << 20, .bytes_without = 812 << 20};
       },
       {"\nrecompute     blocks: 203.0 MiB of activations per tower, 812.0 MiB without\n"}},
      {"ThatNothingIsRecomputed",
       [](StartInfo& start) { start.recompute = RecomputeInfo{}; },
       {"\nrecompute     blocks, but this model has none: nothing is recomputed\n"}},
      {"TheLimitOfDevicesThatHaveOne",
       [](StartInfo& start) { start.devices[1].memory_limit = int64_t{20} << 30; },
       {"\nmemory               weights  gradients  optimizer  comm     total    limit\n"
        "              cpu:0  1.5 KiB  1.5 KiB    1.5 KiB    0 B      4.5 KiB\n"
        "              cpu:1  1.5 KiB  1.5 KiB    0 B        1.0 MiB  1.0 MiB  20.0 GiB\n"}},
  };
}

class StartBlockShows : public testing::TestWithParam<BlockCase> {};

TEST_P(StartBlockShows, Facts) {
  StartInfo start = sample_start();
  GetParam().change(start);
  std::string block = "\n" + start_block(start);
  for (const std::string& text : GetParam().shows) EXPECT_THAT(block, HasSubstr(text));
  for (const std::string& text : GetParam().lacks) EXPECT_THAT(block, Not(HasSubstr(text)));
}

INSTANTIATE_TEST_SUITE_P(Table, StartBlockShows, testing::ValuesIn(block_cases()),
                         [](const auto& test) { return test.param.name; });

TEST(EndBlock, Golden) {
  EXPECT_EQ(end_block(sample_summary()),
            "best accuracy   92.71% on the test data, last 92.55% with loss 0.2211\n"
            "time            2:31 for 2 350 steps, 10 epochs\n"
            "speed           3 912 samples/s\n"
            "peak memory     arena 44.0 MiB, host_rss 200.0 MiB\n"
            "checkpoint      runs/cnn/checkpoints/step_00002350.h5\n"
            "metrics         runs/cnn/metrics.jsonl\n"
            "output          runs/cnn\n"
            "parameter hash  0123456789abcdef\n");
}

// The metric that was asked for, of unseen data first, each with the data that it is of.
TEST(EndBlock, LeadsWithTheTestAndNamesTheMetricAskedFor) {
  RunSummary summary = sample_summary();
  summary.val = {.loss = 0.0004,
                 .metric = {Metric::rmse, 0.02},
                 .best = 0.9402,
                 .measured = true,
                 .best_by = Metric::r2,
                 .others = {{Metric::mae, 0.015}, {Metric::r2, 0.93}},
                 .held_out = true};
  std::string best =
      "best r2         0.9402 on the validation data, last 0.9300, rmse 0.02000 with loss "
      "0.0004000\n";
  EXPECT_THAT(end_block(summary), StartsWith(best));
  summary.test = TestSummary{.loss = 0.0005,
                             .metric = {Metric::rmse, 0.0231},
                             .step = 1200,
                             .others = {{Metric::r2, 0.931}}};
  EXPECT_THAT(
      end_block(summary),
      StartsWith(
          "test r2         0.9310, rmse 0.02310 with loss 0.0005000, weights of step 1 200\n" +
          best));
  summary.val.best_by = Metric::loss;
  summary.val.best = 0.0003;
  EXPECT_THAT(end_block(summary), StartsWith("test loss       0.0005000, rmse 0.02310 with loss "));
}

TEST(EndBlock, HasTheVerdictLineByLine) {
  RunSummary summary = sample_summary();
  summary.verdict = {"input-bound 37 %: raise data.workers (now 1)",
                     "cuda:1 idle 40 %: it costs the same"};
  EXPECT_THAT(end_block(summary),
              HasSubstr("\nverdict         input-bound 37 %: raise data.workers (now 1)\n"
                        "                cuda:1 idle 40 %: it costs the same\n"
                        "peak memory "));
}

TEST(EndBlock, SaysWhyItStoppedAndLeavesOutMissingFacts) {
  RunSummary summary = sample_summary();
  summary.stopped_by = "SIGTERM";
  summary.exit = 75;
  summary.val = {};
  summary.checkpoint.clear();
  std::string block = end_block(summary);
  EXPECT_THAT(block, StartsWith("stopped         SIGTERM (exit 75)\n"));
  EXPECT_THAT(block, Not(HasSubstr("accuracy")));
  EXPECT_THAT(block, Not(HasSubstr("checkpoint")));
  EXPECT_THAT(block, EndsWith("\nparameter hash  0123456789abcdef\n"));
}

TEST(EndBlock, ShowsPlansThatMemoryExceededAndTheFirstLineOfAnError) {
  RunSummary summary = sample_summary();
  summary.planned_memory_bytes["arena"] = 40 << 20;
  summary.stopped_by = "cuda:0: 1.0 GiB asked for\n         planned  in use";
  summary.exit = 6;
  std::string block = end_block(summary);
  EXPECT_THAT(block, HasSubstr("memory     arena 44.0 MiB (planned 40.0 MiB), host_rss 200.0"));
  EXPECT_THAT(block, StartsWith("stopped         cuda:0: 1.0 GiB asked for (exit 6)\nbest"));
}

TEST(EndBlock, ShowsTheHashOfAveragedWeights) {
  RunSummary summary = sample_summary();
  summary.ema_hash = "fedcba9876543210";
  EXPECT_THAT(end_block(summary), EndsWith("\nema hash        fedcba9876543210\n"
                                           "parameter hash  0123456789abcdef\n"));
}

const std::string wide_line =
    "epoch 3.4/10  step 1200/2350  loss 0.2345  acc 83.4%  lr 0.0942  3912 samples/s  data 2%  "
    "eta 1:15";

TEST(ProgressLine, FitsTheWidth) {
  EXPECT_EQ(progress_line(sample_step(), {.epochs = 10}, 200, false), wide_line);
  EXPECT_EQ(progress_line(sample_step(), {.epochs = 10}, 79, false),
            "ep 3.4 step 1200/2350 loss 0.2345 acc 83.4% lr 0.0942 3912/s data 2% eta 1:15");
  EXPECT_EQ(progress_line(sample_step(), {.epochs = 10}, 40, false),
            "step 1200/2350 loss 0.2345 acc 83.4%");
  EXPECT_EQ(progress_line(sample_step(), {.epochs = 10}, 11, false), "loss 0.2345");
  EXPECT_EQ(progress_line(sample_step(), {.epochs = 10}, 5, false), "");
}

TEST(ProgressLine, NeverExceedsTheWidth) {
  StepReport big = sample_step(123456789);
  big.total_steps = 999999999;
  big.epoch_loss = 1e30;
  big.eta_seconds = 1e7;
  for (int width = -1; width < 150; ++width)
    EXPECT_LE(static_cast<int>(progress_line(big, {.epochs = 10}, width, false).size()),
              std::max(width, 0));
}

// Removes the escapes "ESC [ ... letter" from a text.
std::string without_escapes(std::string text) {
  for (size_t at; (at = text.find('\x1b')) != text.npos;)
    text.erase(at, text.find_first_of("mK", at) + 1 - at);
  return text;
}

TEST(ProgressLine, ColourChangesNoText) {
  std::string coloured = progress_line(sample_step(), {.epochs = 10}, 110, true);
  EXPECT_THAT(coloured, HasSubstr("\x1b[2mloss\x1b[22m 0.2345"));
  EXPECT_EQ(without_escapes(coloured), wide_line);
}

TEST(PlainLine, Golden) {
  EXPECT_EQ(plain_line(sample_step(), {}, std::chrono::system_clock::from_time_t(1769860800)),
            "2026-01-31T12:00:00Z step 1200/2350 epoch 3.42 loss 0.2345 accuracy 83.40% "
            "lr 9.420e-02 gnorm 0.9100 3912 samples/s 65.4 ms/step data 2% eta 1:15");
}

TEST(CommWait, IsShownFromOnePercentOnAndWithSeveralProcesses) {
  auto time = std::chrono::system_clock::from_time_t(1769860800);
  StepReport step = sample_step();
  auto shown = [&](double wait, int64_t processes) {
    step.comm_wait = wait;
    LineContext context{.epochs = 10, .processes = processes};
    bool plain = plain_line(step, context, time).find(" comm ") != std::string::npos;
    bool rewritten = progress_line(step, context, 200, false).find(" comm ") != std::string::npos;
    EXPECT_EQ(plain, rewritten);
    return plain;
  };
  EXPECT_FALSE(shown(0, 1));
  EXPECT_FALSE(shown(0.0099, 1));
  EXPECT_TRUE(shown(0.01, 1));
  EXPECT_TRUE(shown(0, 2));
  EXPECT_THAT(plain_line(step, {.processes = 2}, time), HasSubstr("data 2% comm 0% eta 1:15"));
  step.comm_wait = 0.123;
  EXPECT_THAT(plain_line(step, {}, time), HasSubstr("data 2% comm 12% eta 1:15"));
  EXPECT_THAT(progress_line(step, {}, 200, false), HasSubstr("data 2%  comm 12%  eta 1:15"));
}

TEST(Skipped, StepsAreShownFromTheFirstOn) {
  auto time = std::chrono::system_clock::from_time_t(1769860800);
  StepReport step = sample_step();
  for (int64_t skipped : {0, 3}) {
    step.skipped_steps = skipped;
    for (const std::string& line :
         {plain_line(step, {}, time), progress_line(step, {}, 200, false)})
      EXPECT_EQ(line.find("skipped 3") != std::string::npos, skipped > 0) << line;
  }
}

TEST(CommWait, IsLeftOutAfterTheDataWait) {
  StepReport step = sample_step();
  step.comm_wait = 0.3;
  EXPECT_EQ(progress_line(step, {}, 72, false),
            "ep 3.4 step 1200/2350 loss 0.2345 acc 83.4% 3912/s comm 30% eta 1:15");
}

TEST(Units, Golden) {
  EXPECT_EQ(count_text(0), "0");
  EXPECT_EQ(count_text(999), "999");
  EXPECT_EQ(count_text(1000), "1 000");
  EXPECT_EQ(count_text(-123456), "-123 456");
  EXPECT_EQ(count_text(1234567), "1 234 567");
  EXPECT_EQ(bytes_text(int64_t{1023}), "1023 B");
  EXPECT_EQ(bytes_text(int64_t{1536}), "1.5 KiB");
  EXPECT_EQ(bytes_text((int64_t{1} << 20) - 1), "1.0 MiB");
  EXPECT_EQ(bytes_text(int64_t{5} << 40), "5.0 TiB");
  EXPECT_EQ(duration_text(0.4), "0:00");
  EXPECT_EQ(duration_text(59.6), "1:00");
  EXPECT_EQ(duration_text(3661), "1:01:01");
  EXPECT_EQ(duration_text(100 * 3600), "100:00:00");
  EXPECT_EQ(duration_text(-1), "-");
  EXPECT_EQ(duration_text(std::numeric_limits<double>::infinity()), "-");
  EXPECT_EQ(loss_text(0.1), "0.1000");
  EXPECT_EQ(loss_text(12.345), "12.35");
  EXPECT_EQ(loss_text(std::numeric_limits<double>::quiet_NaN()), "nan");
  EXPECT_EQ(loss_text(-std::numeric_limits<double>::quiet_NaN()), "nan");
  EXPECT_EQ(utc_text(std::chrono::system_clock::from_time_t(1769860800)), "2026-01-31T12:00:00Z");
}

TEST(TextTable, AlignsByCharactersNotBytes) {
  EXPECT_EQ(aligned_text({{"a", "b"}, {"cc", ""}}), "a   b\ncc\n");
  EXPECT_EQ(aligned_text({}), "");
  EXPECT_EQ(aligned_text({{"a\n\x1b", "b"}}), "a\\x0a\\x1b  b\n");
  EXPECT_THAT(aligned({{"a×", "b"}, {"long", "c", "d"}, {}}),
              ::testing::ElementsAre("a×    b", "long  c  d", ""));
}

}  // namespace
}  // namespace spire
