// Tests predicted speeds by closed forms, and when buckets are ready by a net of two layers.
#include "tools/bench/prediction/prediction.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <spire/layers.h>

#include "tests/tools/words.h"
#include "tools/bench/limits/ceilings.h"

namespace spire {
namespace {

using Strategy = RunConfig::Strategy;
using testing::DoubleEq;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr int64_t floats = 3 * 4096;
constexpr double gradient_bytes = 4.0 * floats;
constexpr double rounding = 1e-14;  // of sums of seconds

// Eight towers of 0.5 s forward and 1 s backward each; two buckets, complete at a quarter of
// backward and at its end.
StepProfile profile() {
  StepProfile profile;
  profile.variant.towers = 8;
  profile.batch_size = 32;
  profile.step_seconds = 13;
  profile.times = {.data = 0.125,
                   .copy = 0.125,
                   .forward = 4,
                   .backward = 8,
                   .reduce = 0,
                   .update = 0.5,
                   .replicate = 0.25,
                   .other = 0};
  profile.buckets = {{0, 4096}, {4096, floats}};
  profile.ready = {0.25, 1};
  return profile;
}

CommunicationModel model_of(Strategy strategy, double alpha, double beta, double gamma = 0) {
  return {.link = {"test", alpha, beta}, .gamma = gamma, .strategy = strategy};
}

TEST(Prediction, OfOneDeviceIsWhatWasMeasured) {
  CommunicationModel model = model_of(Strategy::parameter_device, 1, 1, 1);
  for (Scaling scaling : {Scaling::strong, Scaling::weak}) {
    PredictedPoint point = predict(profile(), model, scaling, 1);
    EXPECT_DOUBLE_EQ(point.samples_per_s, 8 * 32 / 13.0);
    EXPECT_DOUBLE_EQ(point.efficiency, 1);
    EXPECT_EQ(point.exposed_seconds, 0);
  }
}

TEST(Prediction, FreeExchangesScaleIdeally) {
  StepProfile ideal = profile();
  ideal.step_seconds = 12.75;
  ideal.times.update = 0.5;
  for (Strategy strategy : {Strategy::parameter_device, Strategy::mirrored, Strategy::sharded}) {
    CommunicationModel model = model_of(strategy, 0, 0);
    // Weak: each device does what the one did, and with sharded only a part of the update.
    PredictedPoint weak = predict(ideal, model, Scaling::weak, 512);
    EXPECT_EQ(weak.exposed_seconds, 0);
    EXPECT_EQ(weak.towers, 8 * 512);
    double step = strategy == Strategy::sharded ? 12.25 + 0.5 / 512 : 12.75;
    EXPECT_DOUBLE_EQ(weak.step_seconds, step);
    EXPECT_DOUBLE_EQ(weak.efficiency, 12.75 / step);
    // Strong: the towers are divided, the update is not.
    PredictedPoint strong = predict(ideal, model, Scaling::strong, 4);
    double update = strategy == Strategy::sharded ? 0.125 : 0.5;
    EXPECT_DOUBLE_EQ(strong.step_seconds, 12.25 / 4 + update);
  }
}

TEST(Prediction, ASlowLinkBoundsTheSpeed) {
  struct Row {
    Strategy strategy;
    double times;  // (R - 1) / R of all bytes
  };
  // Nothing is hidden when every bucket takes longer than backward. A parameter device sends all
  // weights, and then the seven others send each other 6 / 7 of them.
  double published = (1 + 6.0 / 7) / (7.0 / 8);
  for (auto [strategy, times] : {Row{Strategy::parameter_device, 2 + published},
                                 Row{Strategy::mirrored, 2}, Row{Strategy::sharded, 2}}) {
    constexpr double beta = 1e9;
    PredictedPoint point = predict(profile(), model_of(strategy, 0, beta), Scaling::weak, 8);
    double squares = floats / 4096 * 8;
    double bound = 8 * 8 * 32 / (7.0 / 8 * (times * gradient_bytes + squares) * beta);
    EXPECT_NEAR(point.samples_per_s / bound, 1, 1e-9);
  }
}

// Two members, mirrored, 4 towers each. Bucket 0 of B0 bytes is ready at 0.25 s of the last
// backward, bucket 1 of 2 B0 at 1 s; an all-reduce is 2 (alpha + B / 2 beta) + B / 2 gamma.
TEST(Prediction, TwoDevicesByHand) {
  constexpr double alpha = 0.01, beta = 1e-6, gamma = 1e-7, b0 = 4 * 4096;
  CommunicationModel model = model_of(Strategy::mirrored, alpha, beta, gamma);
  double second = 2 * (alpha + b0 * beta) + b0 * gamma;  // the first ends within backward
  double squares = alpha + 3 * 8 / 2 * beta, numbers = alpha;
  PredictedPoint point = predict(profile(), model, Scaling::strong, 2);
  EXPECT_NEAR(point.exposed_seconds, second + squares + numbers, rounding);
  EXPECT_NEAR(point.step_seconds, 12.25 / 2 + 0.5 + 0.25 + second + squares + numbers, rounding);
  EXPECT_DOUBLE_EQ(point.samples_per_s, 256 / point.step_seconds);
}

TEST(Prediction, BucketsWaitForEachOther) {
  // Bucket 0 takes 2 s: from 0.25 s to 2.25 s, then bucket 1 until 6.25 s; backward ends at 1 s.
  CommunicationModel model = model_of(Strategy::sharded, 0, 2 / (0.5 * 4 * 4096));
  EXPECT_DOUBLE_EQ(exposed_reduction(profile(), model, 2, 1), 6.25 - 1);
  model.overlaps = false;
  EXPECT_DOUBLE_EQ(exposed_reduction(profile(), model, 2, 1), 2 + 4);
  model.link.beta /= 8;  // 0.25 s to 0.5 s, then 1 s to 1.5 s
  model.overlaps = true;
  EXPECT_DOUBLE_EQ(exposed_reduction(profile(), model, 2, 1), 0.5);
}

TEST(Prediction, DevicesOfAMemberShareTheSumAndCopyWeights) {
  CommunicationModel model = model_of(Strategy::parameter_device, 1, 1, 1e-6);
  model.devices_per_member = 2;
  PredictedPoint point = predict(profile(), model, Scaling::strong, 2);
  EXPECT_NEAR(point.exposed_seconds, 0.5 * gradient_bytes * 1e-6 + gradient_bytes * 1e-6 * 2 / 3,
              rounding);
}

TEST(Prediction, UnevenTowersWaitForTheSlowestLane) {
  PredictedPoint point = predict(profile(), model_of(Strategy::mirrored, 0, 0), Scaling::strong, 3);
  EXPECT_DOUBLE_EQ(point.step_seconds, 12.25 * 3 / 8 + 0.75);
}

TEST(Prediction, StrongScalingEndsAtTheTowers) {
  std::vector<PredictedPoint> points;
  for (Scaling scaling : {Scaling::strong, Scaling::weak})
    for (int64_t devices : {8, 64})
      points.push_back(predict(profile(), model_of(Strategy::mirrored, 0, 0), scaling, devices));
  EXPECT_EQ(points[0].error, "");
  EXPECT_EQ(points[1].error, "64 devices need 64 towers, the run has 8");
  EXPECT_EQ(points[3].error, "");
  std::string text = to_text(profile(), model_of(Strategy::mirrored, 0, 0), points);
  expect_parts(text, {"model, not measured", "64 devices need 64 towers", "2 buckets"});
}

TEST(Prediction, ThreadsOfADeviceShareItsCopies) {
  Ceilings ceilings{.devices = 2, .threads = 4, .copy_bytes_per_s = 8e9};
  EXPECT_DOUBLE_EQ(gamma_of(ceilings), 3 / 1e9);
}

TEST(Prediction, ALinkOfNoTimeHasNoLimit) {
  std::string text = to_text(profile(), model_of(Strategy::mirrored, 0, 0, 2e-9), {});
  EXPECT_THAT(text, HasSubstr("link test: 0 us a message, no limit each way; 0.5 GB/s of sums"));
}

Point measured_point(int64_t processes, double samples_per_s) {
  Point point;
  point.variant.devices = 2;
  point.variant.processes = processes;
  point.variant.towers = 8;
  for (double factor : {0.5, 1.0, 2.0})  // their median is 1
    point.rounds.emplace_back().samples_per_s = factor * samples_per_s;
  return point;
}

TEST(Prediction, IsComparedWithWhatWasMeasured) {
  CommunicationModel model = model_of(Strategy::mirrored, 0, 1e-6);
  model.devices_per_member = 2;
  model.strategy = Strategy::parameter_device;
  double threads = predict(profile(), model, Scaling::strong, 2).samples_per_s;
  model.devices_per_member = 1;
  double processes = predict(profile(), model, Scaling::strong, 2).samples_per_s;
  ASSERT_LT(processes, threads);
  Point other = measured_point(1, 1);
  other.variant.precision = RunConfig::Precision::bf16;
  Point mirrored = measured_point(1, 1);
  mirrored.variant.strategy = Strategy::mirrored;
  std::vector<Point> points = {measured_point(1, threads), measured_point(2, processes / 2), other,
                               mirrored};
  std::string text = compare_with_measured(profile(), model, points);
  expect_parts(text, {"1.000\n", "2.000\n"});
  EXPECT_THAT(text, Not(HasSubstr("bf16")));
  EXPECT_THAT(text, Not(HasSubstr("mirrored")));
  EXPECT_THAT(compare_with_measured(profile(), model, {}), HasSubstr("not compared"));
}

constexpr int64_t rows = 8, width = 64, classes = 16;

Graph two_layers(int64_t batch, bool training) {
  Graph graph(training);
  Value x = graph.input("features", {{batch, width}, DType::f32});
  Value labels = graph.input("labels", {{batch}, DType::i32});
  Value hidden = dense(graph, "first", x, width);
  cross_entropy_loss(graph, dense(graph, "last", hidden, classes), labels, 0.0f);
  return graph;
}

struct Lowered {
  ParameterLayout layout = make_layout(two_layers, rows);
  LoweredGraph lowered = lower_for_training(two_layers(rows, true), {}, layout, false);
};

// Backward is: last's weights, data, first's weights; the loss makes its gradient in forward.
std::vector<std::string> backward_ops(const Graph& graph) {
  std::vector<std::string> names;
  for (const Node& node : graph.nodes())
    if (node.backward) names.emplace_back(node.op->name());
  return names;
}

TEST(BackwardProfile, ABucketIsReadyAfterItsLastGradient) {
  Lowered net;
  ASSERT_EQ(backward_ops(net.lowered.graph).size(), 3u);
  int64_t last =
      std::min(net.layout.find("first.weight").offset, net.layout.find("first.bias").offset);
  int64_t total = net.layout.total_floats();
  ASSERT_LT(net.layout.find("last.weight").offset, last);  // as backward completes it first
  OpSeconds seconds = [](const OpWork& work) {
    return work.op == "dense_backward_weights" ? 3.0 : 1.0;
  };
  // Each of 7: weights 3, data 1, weights 3; the order of the first two matters.
  bool data_first = backward_ops(net.lowered.graph)[0] != "dense_backward_weights";
  double early = data_first ? 4.0 / 7 : 3.0 / 7;
  EXPECT_THAT(ready_shares(net.lowered, net.layout, {{0, last}, {last, total}}, seconds),
              ElementsAre(DoubleEq(early), 1.0));
  EXPECT_THAT(ready_shares(net.lowered, net.layout, {{0, last + 1}, {last + 1, total}}, seconds),
              ElementsAre(1.0, 1.0));
}

TEST(BackwardProfile, RooflineIsTheLongerOfFlopsAndBytes) {
  Lowered net;
  Ceilings ceilings{.devices = 2, .fp32_flops_per_s = 2e9, .copy_bytes_per_s = 2e3};
  Roofline memory_bound = roofline_of(ceilings, 0.5);
  ceilings.copy_bytes_per_s = 2e30;
  Roofline arithmetic = roofline_of(ceilings, 0.5);
  auto ops = work_of(net.lowered.graph, net.lowered.gradients);
  auto product = std::ranges::find(ops, "dense", &OpWork::op);
  ASSERT_NE(product, ops.end());
  double floats = rows * width + width * width + width + rows * width;  // x, w, b, y
  EXPECT_DOUBLE_EQ(memory_bound.seconds(*product), 4 * floats / 1e3);
  EXPECT_DOUBLE_EQ(arithmetic.seconds(*product), 2.0 * rows * width * width / 1e9);
}

}  // namespace
}  // namespace spire
