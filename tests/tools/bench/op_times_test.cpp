// Times of ops against what the model's graph says of them, and their text against known numbers.
#include "tools/bench/limits/op_times.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <spire/load_config.h>
#include <spire/plan.h>

#include "tests/tools/words.h"
#include "tests/train/device_kinds.h"

namespace spire {
namespace {

using testing::HasSubstr;
using testing::Not;

class OpTimesTest : public OnEachKind {
 protected:
  static RunConfig config(const std::string& precision, int64_t device_count = 1) {
    RunConfig config =
        parse_config({{"test",
                       "model: {name: cnn, channels: [4, 8], hidden: [16], dropout: 0.2, "
                       "normalization: batch_norm}\n"
                       "data: {name: synthetic, synthetic: {shape: [8, 8, 1], samples: 64, "
                       "test_samples: 8, classes: 4}}\n"
                       "batch_size: 8\n"
                       "tower_threads: 1\n"
                       "cuda: {autotune: false}\n"
                       "output: /nowhere\n"}},
                     {"precision=" + precision})
            .config;
    config.devices = devices(device_count);
    config.towers = device_count;
    return config;
  }
  static Ceilings ceilings(double flops, double bytes) {
    return {.devices = 1,
            .fp32_flops_per_s = flops,
            .bf16_flops_per_s = 2 * flops,
            .copy_bytes_per_s = bytes};
  }
};

TEST_P(OpTimesTest, EveryOpIsTimedBesideItsRoofline) {
  for (const char* precision : {"fp32", "bf16"}) {
    OpTimes times =
        time_ops(config(precision), ceilings(1e9, 3e9), {.warmup = 1, .repetitions = 3});
    double peak = times.precision == "bf16" ? 2e9 : 1e9;
    EXPECT_EQ(times.flops_per_s, peak);
    ASSERT_FALSE(times.ops.empty());
    for (const OpTime& op : times.ops) {
      double product = op.type == DType::bf16 ? 2e9 : 1e9;
      EXPECT_EQ(op.roofline_seconds, std::max(op.flops / product, op.bytes / 3e9)) << op.op;
      EXPECT_EQ(op.lost_seconds(), op.seconds - op.roofline_seconds);
      EXPECT_GT(op.seconds, 0) << op.op;
      EXPECT_GT(op.bytes, 0) << op.op;
    }
  }
}

// The forward products are those that `trainer plan` counts, and backward has two of each but the
// first layer's, whose input needs no gradient.
TEST_P(OpTimesTest, CountsTheProductsOfThePlan) {
  OpTimes times = time_ops(config("fp32"), {}, {.warmup = 0, .repetitions = 1});
  PlanReport plan = spire::plan(config("fp32"));
  double forward = 0, backward = 0, counted = 0, first = 0;
  for (const LayerRow& layer : plan.layers) {
    if (layer.op.empty()) continue;  // the sum
    counted += 2.0 * static_cast<double>(layer.multiply_adds);
    if (first == 0) first = counted;
  }
  for (const OpTime& op : times.ops) (op.pass == Pass::forward ? forward : backward) += op.flops;
  EXPECT_GT(first, 0);
  EXPECT_EQ(forward, counted);
  EXPECT_EQ(backward, 2 * counted - first);
  for (const OpTime& op : times.ops) EXPECT_EQ(op.roofline_seconds, 0);  // no ceilings
}

TEST_P(OpTimesTest, LanesShareTheCeilingsOfTheirDevices) {
  OpTimes one = time_ops(config("fp32"), ceilings(1e9, 1e9), {.warmup = 0, .repetitions = 1});
  Ceilings of_two = ceilings(4e9, 4e9);
  of_two.devices = 2;
  OpTimes two = time_ops(config("fp32", 2), of_two, {.warmup = 0, .repetitions = 1});
  EXPECT_EQ(one.lanes, 1);
  EXPECT_EQ(two.lanes, 2);
  ASSERT_EQ(one.ops.size(), two.ops.size());
  for (size_t i = 0; i < one.ops.size(); ++i) {
    EXPECT_EQ(one.ops[i].shapes, two.ops[i].shapes);
    EXPECT_EQ(one.ops[i].roofline_seconds, 2 * two.ops[i].roofline_seconds);
  }
}

SPIRE_TEST_ON_EACH_KIND(OpTimesTest);

OpTime op_time(std::string layer, std::string op, Pass pass, double seconds, double roofline) {
  OpTime time;
  time.layer = std::move(layer);
  time.op = std::move(op);
  time.shapes = "2x3 -> 2x4";
  time.pass = pass;
  time.flops = 1e9 * roofline;
  time.bytes = 1e9 * seconds;
  time.seconds = seconds;
  time.roofline_seconds = roofline;
  return time;
}

TEST(OpTimesText, HasTheSumsOfKindsAndTheTenThatLoseMost) {
  OpTimes times{.device = "cpu:0",
                .lanes = 2,
                .samples = 8,
                .precision = "bf16",
                .repetitions = 5,
                .flops_per_s = 1e9,
                .ops = {}};
  for (int i = 0; i < 12; ++i)
    times.ops.push_back(op_time("layer" + std::to_string(i), "dense", Pass::forward, 0.01,
                                0.001 * (i < 10 ? 2 : 9)));
  times.ops.push_back(op_time("head", "dense_backward_data", Pass::backward, 0.03, 0.002));
  std::string text = to_text(times);
  expect_parts(text, {"ops of a tower's step on cpu:0 (1 thread), 8 samples, bf16; 2 lanes "
                      "at the same time; medians of 5 runs",
                      "1.0 GFLOP/s of products in bf16, copies not measured",
                      "dense                12     120.00  80.0%   38.00     82.00   0.3 ",
                      "both      all                  13     150.00  100.0%  40.00 "});
  // The last two of the twelve lose less than the others, which lose less than the head.
  EXPECT_LT(text.find("dense_backward_data  head "), text.find("layer0 "));
  EXPECT_THAT(text, HasSubstr("layer8 "));
  EXPECT_THAT(text, Not(HasSubstr("layer9 ")));
  EXPECT_THAT(text, Not(HasSubstr("layer10")));
}

}  // namespace
}  // namespace spire
