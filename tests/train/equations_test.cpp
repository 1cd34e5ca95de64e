// Tests by equations the results of several towers, devices and processes.
#include <algorithm>
#include <bit>
#include <cmath>

#include <Eigen/Dense>
#include <gtest/gtest.h>

#include <spire/error.h>

#include "tests/base/message_of.h"
#include "tests/train/device_kinds.h"
#include "tests/train/small_run.h"

namespace spire {
namespace {

using Eigen::MatrixXd;

// Least squares by gradient descent in closed form: a dense layer y = W x + b, classes targets,
// loss = mean over samples and classes of (y - onehot)^2.
struct LeastSquares {
  MatrixXd weight, bias;

  void step(const MatrixXd& x, const MatrixXd& target, double lr) {
    MatrixXd residual = (weight * x).colwise() + bias.col(0);
    residual -= target;
    double scale = 2.0 / static_cast<double>(residual.size());
    weight -= lr * scale * residual * x.transpose();
    bias -= lr * scale * residual.rowwise().sum();
  }
};

LeastSquares closed_form(const SmallRun& run, int64_t steps) {
  TowerTrainer trainer(run.options(), run.place());  // for the weights at the start
  auto matrix = [&](const char* name, int64_t rows, int64_t columns) {
    const float* values = trainer.weights() + trainer.layout().find(name).offset;
    MatrixXd m(rows, columns);
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < columns; ++c) m(r, c) = double{values[r * columns + c]};
    }
    return m;
  };
  LeastSquares model{matrix("dense.weight", 4, 64), matrix("dense.bias", 4, 1)};
  ImageDataset data = run.dataset();
  BatchLoader loader(data, run.loading());
  loader.start(0, 0, INT64_MAX);
  for (int64_t s = 0; s < steps; ++s) {
    const Batch& batch = loader.next();
    auto pixels = batch.column<float>(0);
    MatrixXd x(64, batch.valid), target = MatrixXd::Zero(4, batch.valid);
    for (int64_t n = 0; n < batch.valid; ++n) {
      for (int64_t p = 0; p < 64; ++p) x(p, n) = double{pixels[n * 64 + p]};
      target(batch.column<int32_t>(1)[n], n) = 1;
    }
    model.step(x, target, run.optimizer.lr);
  }
  return model;
}

// N towers of b samples, on one device, several, or two processes, are one tower of N b samples and
// the closed form; the ragged last batch of an epoch included.
class Equations : public OnEachKind {};
SPIRE_TEST_ON_EACH_KIND(Equations);

TEST_P(Equations, TowersAreTheClosedFormOfLeastSquares) {
  constexpr int64_t steps = 12;
  for (int64_t towers : {1, 2, 3, 5, 8}) {  // of five the last has fewer samples
    SmallRun run = changed_run([&](SmallRun& r) {
      r.model = {.name = "linear"};
      r.loss = {.name = LossConfig::Name::mse};
      r.towers = towers;
      r.batch_size = (24 + towers - 1) / towers;
      r.global_batch = 24;
      r.optimizer = {.name = OptimizerConfig::Name::sgd, .lr = 0.05, .momentum = 0.0};
      r.devices = devices(std::min<int64_t>(towers, 2));
    });
    LeastSquares expected = closed_form(run, steps);
    for (int ranks : rank_counts({1, 2})) {
      if (towers < ranks) continue;
      run.ranks = ranks;
      if (ranks > 1) run.devices = devices_of_ranks(ranks);
      auto weights = weights_after(run, steps);
      const TowerTrainer trainer = planned_trainer(run);
      const float* w = weights.data() + trainer.layout().find("dense.weight").offset;
      const float* b = weights.data() + trainer.layout().find("dense.bias").offset;
      for (int64_t r = 0; r < 4; ++r) {
        ASSERT_NEAR(double{b[r]}, expected.bias(r, 0), 1e-5);
        for (int64_t c = 0; c < 64; ++c)
          ASSERT_NEAR(double{w[r * 64 + c]}, expected.weight(r, c), 1e-5) << towers << " towers";
      }
    }
  }
}

// Statistics over all towers' samples are those of one tower that has them all.
TEST_P(Equations, SyncBatchNormIsBatchNormOfTheGlobalBatch) {
  SmallRun whole = changed_run([](SmallRun& r) {
    r.model = {.name = "resnet", .depth = 8};
    r.towers = 1;
    r.batch_size = 24;
    r.samples = 99;  // ragged: 3 samples are left for the last batch of an epoch
    r.optimizer = {.name = OptimizerConfig::Name::sgd, .lr = 0.01, .momentum = 0.9};
    r.devices = devices(1);
  });
  auto reference = weights_after(whole, 5);
  double own_statistics = 0;
  for (const char* batch_norm : {"sync", "tower"}) {
    for (int64_t towers : on_gpu() ? std::vector{3} : std::vector{2, 3, 5, 8}) {
      SmallRun split = whole;
      split.model.batch_norm = *find_word<ModelConfig::BatchNorm>(batch_norm);
      split.towers = towers;
      split.batch_size = (24 + towers - 1) / towers;
      split.global_batch = 24;
      auto weights = weights_after(split, 5);
      double worst = 0;
      for (size_t i = 0; i < reference.size(); ++i)
        worst = std::max(worst, std::abs(double{weights[i]} - double{reference[i]}));
      if (split.model.batch_norm == ModelConfig::BatchNorm::sync) {
        EXPECT_LT(worst, 2e-4) << towers << " towers";
      } else {
        own_statistics = std::max(own_statistics, worst);
      }
    }
  }
  EXPECT_GT(own_statistics, 1e-2);  // without synchronization the bound above does not hold
}

TEST_P(Equations, NativeIsTheInvariantResultToRounding) {
  for (int ranks : rank_counts({1, 2})) {
    SmallRun run = changed_run([&](SmallRun& r) {
      r.model = {.name = "mlp", .hidden = {200, 100}};
      r.towers = 12;  // three a lane, six a device: not the tree
      r.ranks = ranks;
      r.devices = ranks == 1 ? devices(2) : devices_of_ranks(ranks);
    });
    auto invariant = weights_after(run, 10);
    run.reduction = "native";
    auto native = weights_after(run, 10);
    for (size_t i = 0; i < native.size(); ++i)
      ASSERT_NEAR(native[i], invariant[i], 1e-5 + 1e-4 * std::abs(invariant[i]));
    EXPECT_TRUE(native != invariant) << ranks << " ranks";
  }
}

// A state saved by any of these is continued by any other, optimizer state and clipping included.
TEST_P(Equations, AStateMovesBetweenDevicesProcessesAndStrategies) {
  SmallRun base = changed_run([](SmallRun& r) {
    r.model.hidden = {200, 100};
    r.towers = 8;
    r.optimizer = {.name = OptimizerConfig::Name::adam, .lr = 0.01, .clip_norm = 1.0};
    r.devices = devices(1);
  });
  int64_t half = on_gpu() ? 1 : 17, end = on_gpu() ? 2 : 40;  // emulated GPUs are slow
  uint64_t straight = hash_after(base, end);
  std::vector<SmallRun> places;
  for (auto [ranks, count, strategy] : std::vector<std::tuple<int, int, const char*>>{
           {1, 4, "parameter_device"}, {2, 2, "sharded"}, {4, 2, "mirrored"}, {1, 1, "sharded"}}) {
    SmallRun run = base;
    run.ranks = on_gpu() ? 1 : ranks;
    run.devices = devices(on_gpu() ? ranks * count : count);
    run.strategy = strategy;
    places.push_back(run);
  }
  for (const SmallRun& from : places) {
    TrainingState state = state_after(from, half);
    for (const SmallRun& to : places)
      EXPECT_EQ(hash_after(to, half, end, &state), straight)
          << from.strategy << " to " << to.strategy;
  }
}

// Master weights and optimizer state in the host's memory, its cores update: the same bits on any
// GPUs and processes, and to rounding what a GPU's update gives.
TEST_P(Equations, TheHostUpdatesTheWeightsOfGpus) {
  if (!on_gpu()) GTEST_SKIP() << "a CPU's weights are the host's anyway";
  for (const char* optimizer : {"adamw", "lamb"}) {
    SmallRun run = changed_run([&](SmallRun& r) {
      r.model.normalization = ModelConfig::Normalization::batch_norm;
      r.model.hidden = {200};
      r.optimizer = {.name = *find_word<OptimizerConfig::Name>(optimizer),
                     .lr = 0.01,
                     .weight_decay = 0.01,
                     .clip_norm = 0.5};
      r.ema = {.decay = 0.9};
      r.devices = devices(1);
    });
    auto on_the_gpu = weights_after(run, 3);
    run.parameter_device = "cpu";
    auto on_host = weights_after(run, 3);
    for (size_t i = 0; i < on_host.size(); ++i)
      ASSERT_NEAR(on_host[i], on_the_gpu[i], 1e-4 + 1e-4 * std::abs(on_the_gpu[i])) << optimizer;
    uint64_t straight = hash_after(run, 4);
    SmallRun two = run;
    two.devices = devices(2);
    EXPECT_EQ(hash_after(two, 4), straight) << optimizer;
    TrainingState state = state_after(two, 2);
    for (int ranks : rank_counts({2})) {
      two.ranks = ranks;
      two.devices = devices_of_ranks(ranks);
      EXPECT_EQ(hash_after(two, 4), straight) << optimizer << ", " << ranks << " processes";
    }
    EXPECT_EQ(hash_after(run, 2, 4, &state), straight) << optimizer;
  }
}

std::string difference_found(DeviceKind kind, int ranks, int devices, int rank, int device) {
  SmallRun run = changed_run([&](SmallRun& r) {
    r.towers = 8;
    r.ranks = ranks;
    r.strategy = "mirrored";  // by which no replica is copied from another
    r.devices = devices_of(kind, devices);
  });
  return message_if_any(Category::collective, [&] {
    on_ranks(run, [&](TowerTrainer& trainer) {
      run_steps(trainer, run, 0, 3);
      trainer.team().lead([&] { trainer.check_replicas(); });
      if (trainer.placement().rank == rank) {
        Replica& replica = trainer.replica(rank * devices + device);
        Buffer copy;
        float* weights = replica.read(copy);
        float& weight = weights[trainer.layout().find("conv2.weight").offset + 5];
        weight = std::bit_cast<float>(std::bit_cast<uint32_t>(weight) ^ 1u);
        replica.write(weights);
      }
      trainer.team().lead([&] { trainer.check_replicas(); });
    });
  });
}

class Replicas : public OnEachKind {};
SPIRE_TEST_ON_EACH_KIND(Replicas);

TEST_P(Replicas, OneFlippedBitIsNamed) {
  auto names = devices(3);
  std::ranges::sort(names);  // logical devices of a GPU are neighbours
  std::string found = difference_found(GetParam(), 1, 3, 0, 2);
  EXPECT_NE(found.find("'conv2.weight' on " + names[2]), std::string::npos) << found;
  found = difference_found(GetParam(), 1, 3, 0, 0);  // the parameter device's own
  EXPECT_NE(found.find("'conv2.weight' on " + names[0]), std::string::npos) << found;
  if (on_gpu()) return;
  found = difference_found(GetParam(), 2, 2, 1, 1);
  EXPECT_NE(found.find("'conv2.weight' on rank 1, cpu:1"), std::string::npos) << found;
}

}  // namespace
}  // namespace spire
