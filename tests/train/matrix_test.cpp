// Tests that a run ends with the same bits on all combinations of devices, processes and
// strategies. Processes are threads here; tests/run/program has real ones.
#include <optional>
#include <utility>

#include <gtest/gtest.h>

#include <spire/load_config.h>

#include "tests/long_tests.h"
#include "tests/train/device_kinds.h"
#include "tests/train/small_run.h"

namespace spire {
namespace {

// An epoch is 7 steps, and ends in a ragged batch in which one tower has fewer samples and others
// none. CPUs run an epoch and two steps, in the long form seven and one. Emulated GPUs are slow, so
// they run fewer steps, and only the first row, in the long form the first two, a whole epoch.
std::vector<int> device_counts(DeviceKind kind) {
  return kind == DeviceKind::cuda ? std::vector{1, 2, 8} : std::vector{1, 2, 4, 8};
}
constexpr int64_t towers = 8;

struct MatrixRow {
  std::string name;
  std::function<void(SmallRun&)> change;
  int64_t gpu_steps = 8;
};

SmallRun row_run(const MatrixRow& row, DType precision) {
  SmallRun run;
  run.towers = towers;
  run.precision = precision;
  run.model.hidden = {200, 100};  // several buckets, and a chunk or more for each of 8 devices
  run.batch_size = 2;
  row.change(run);
  return run;
}

using Hashes = std::pair<uint64_t, std::optional<uint64_t>>;

// Returns the hashes of weights and average, which all ranks must have.
Hashes hashes_after(const SmallRun& run, int64_t steps) {
  std::vector<Hashes> hashes(static_cast<size_t>(run.ranks));
  on_ranks(run, [&](TowerTrainer& trainer) {
    run_steps(trainer, run, 0, steps);
    trainer.team().lead([&] {
      trainer.check_replicas();
      hashes[static_cast<size_t>(trainer.placement().rank)] = {trainer.parameter_hash(),
                                                               trainer.average_hash()};
    });
  });
  for (const Hashes& each : hashes) require(each == hashes[0], "ranks end with different weights");
  return hashes[0];
}

class Matrix
    : public SkipsWithoutGpu<testing::TestWithParam<std::tuple<MatrixRow, DType, DeviceKind>>> {
 protected:
  void SetUp() override { skip_without_gpu(kind()); }
  static DeviceKind kind() { return std::get<DeviceKind>(GetParam()); }
};

// {1, 2, 4, 8 devices} x {1, 2, 4 processes that share them} x {3 strategies}. On GPUs, which are
// slow where they are emulated, fp32 and bf16 take turns: each of these runs once.
TEST_P(Matrix, OneHashForAllDevicesProcessesAndStrategies) {
  const MatrixRow& row = std::get<MatrixRow>(GetParam());
  SmallRun run = row_run(row, std::get<DType>(GetParam()));
  bool gpus = kind() == DeviceKind::cuda, full = run.precision == DType::f32;
  int64_t steps = gpus ? row.gpu_steps : long_tests() ? 50 : 9;
  run.devices = devices_of(kind(), 1);
  Hashes expected = hashes_after(run, steps);
  int turn = 0;
  for (int devices : device_counts(kind())) {
    for (int ranks : {1, 2, 4}) {
      if (devices % ranks != 0 || !can_share(kind(), devices, ranks)) continue;
      run.devices = devices_of_rank(kind(), devices, ranks);
      run.ranks = ranks;
      for (const char* strategy : {"parameter_device", "mirrored", "sharded"}) {
        if (gpus && (++turn % 2 == 0) == full) continue;
        run.strategy = strategy;
        EXPECT_EQ(hashes_after(run, steps), expected)
            << devices << " devices, " << ranks << " processes, " << strategy;
      }
    }
  }
}

// The parameter device is the first one above, and the last one here.
TEST_P(Matrix, OneHashOnAnyParameterDevice) {
  SmallRun run = row_run(std::get<MatrixRow>(GetParam()), std::get<DType>(GetParam()));
  int64_t steps = kind() == DeviceKind::cuda ? 1 : 5;
  run.devices = devices_of(kind(), 2);
  uint64_t expected = hash_after(run, steps);
  for (int devices : {2, 4}) {
    run.devices = devices_of(kind(), devices);
    run.parameter_device = run.devices.back();
    EXPECT_EQ(hash_after(run, steps), expected) << run.parameter_device;
  }
}

// Without clipping CPUs add up gradients in the update; with a bound that no norm reaches, before.
TEST(UnevenLanes, OneHashWhereverGradientsAreAddedUp) {
  SmallRun run;
  run.model = {.name = "mlp", .hidden = {200, 100}};
  run.optimizer = {.name = OptimizerConfig::Name::adamw, .lr = 0.01, .weight_decay = 0.01};
  run.ema = {.decay = 0.9, .warmup = true};
  for (int64_t uneven : {5, 7}) {
    run.towers = uneven;
    run.devices = {"cpu:0"};  // of two lanes, as this machine is given two cores
    run.optimizer.clip_norm = 1e30;
    Hashes expected = hashes_after(run, 5);
    ASSERT_TRUE(expected.second);
    run.optimizer.clip_norm = 0;
    for (int devices : {1, 2, 3}) {
      run.devices = devices_of(DeviceKind::cpu, devices);
      for (const char* strategy : {"parameter_device", "mirrored", "sharded"}) {
        run.strategy = strategy;
        EXPECT_EQ(hashes_after(run, 5), expected)
            << uneven << " towers, " << devices << " devices, " << strategy;
      }
    }
  }
}

TEST(UnevenTowers, OneHashOnAnyDevicesAndStrategies) {
  SmallRun run;
  run.model.normalization = ModelConfig::Normalization::batch_norm;
  run.towers = 5, run.batch_size = 5, run.global_batch = 23;
  run.devices = {"cpu:0"};
  Hashes expected = hashes_after(run, 7);
  for (int devices : {2, 3}) {
    run.devices = devices_of(DeviceKind::cpu, devices);
    for (const char* strategy : {"parameter_device", "mirrored", "sharded"}) {
      run.strategy = strategy;
      EXPECT_EQ(hashes_after(run, 7), expected) << devices << " devices, " << strategy;
    }
  }
  run.global_batch = 25;
  EXPECT_NE(hashes_after(run, 7), expected);
}

// Rows of an image as tokens.
const char* const llama_layers =
    "model.layers=[reshape: {shape: [8, 8]}, dense: {units: 64}, transformer_block: {heads: 4, "
    "kv_heads: 2, causal: true, rope_theta: 100, norm: rms_norm, mlp: swiglu, bias: false, "
    "dropout: 0.1}, silu, global_avg_pool, dense: {units: classes}]";

const std::vector<MatrixRow> matrix_rows = {
    {"mlp_clipped_adamw",
     [](SmallRun& r) {
       r.model.name = "mlp";
       r.optimizer = {.name = OptimizerConfig::Name::adamw,
                      .lr = 0.01,
                      .weight_decay = 0.01,
                      .clip_norm = 0.5};
     }},
    {"cnn_batch_norm_dropout",
     [](SmallRun& r) { r.model.normalization = ModelConfig::Normalization::batch_norm; },
     long_tests() ? 8 : 2},
    {"cnn_gradients_in_bf16",
     [](SmallRun& r) {
       r.model.normalization = ModelConfig::Normalization::batch_norm;
       r.reduction_dtype = RunConfig::GradientDtype::bf16;
     },
     2},
    {"cnn_decay_of_matrices",
     [](SmallRun& r) {
       r.model.normalization = ModelConfig::Normalization::batch_norm;
       r.optimizer = {.name = OptimizerConfig::Name::sgd,
                      .lr = 0.05,
                      .weight_decay = 0.1,
                      .decay = OptimizerConfig::Decay::matrices};
     },
     2},
    {"mlp_lars",
     [](SmallRun& r) {
       r.model.name = "mlp";
       r.optimizer = {
           .name = OptimizerConfig::Name::lars, .lr = 2.0, .weight_decay = 0.01, .clip_norm = 0.5};
     },
     2},
    {"cnn_lamb",
     [](SmallRun& r) {
       r.model.normalization = ModelConfig::Normalization::batch_norm;
       r.optimizer = {.name = OptimizerConfig::Name::lamb,
                      .lr = 0.01,
                      .weight_decay = 0.1,
                      .decay = OptimizerConfig::Decay::matrices};
     },
     2},
    {"cnn_frozen_stem_and_factors",
     [](SmallRun& r) {
       r.model.normalization = ModelConfig::Normalization::batch_norm;
       r.freeze.patterns = {"conv1.*"};
       r.optimizer = {.name = OptimizerConfig::Name::lamb,
                      .lr = 0.01,
                      .lr_factors = {{"conv2.*", 0.1}, {"*.bias", 2}},
                      .weight_decay = 0.1,
                      .clip_norm = 0.5};
       r.ema = {.decay = 0.9};
     },
     2},
    {"llama_layers",
     [](SmallRun& r) {
       r.model = parse_config({}, {llama_layers}).config.model;
       r.loss.z_loss = 0.01;
       r.optimizer = {.name = OptimizerConfig::Name::adamw, .lr = 0.01, .weight_decay = 0.01};
     },
     2},
    {"resnet_sync_batch_norm",
     [](SmallRun& r) {
       r.model = {.name = "resnet", .depth = 8, .batch_norm = ModelConfig::BatchNorm::sync};
       r.optimizer.clip_norm = 1.0;
     },
     1},
};

INSTANTIATE_TEST_SUITE_P(All, Matrix,
                         testing::Combine(testing::ValuesIn(matrix_rows),
                                          testing::Values(DType::f32, DType::bf16),
                                          testing::Values(DeviceKind::cpu, DeviceKind::cuda)),
                         [](const auto& test) {
                           return std::get<MatrixRow>(test.param).name + "_" +
                                  std::string(to_string(std::get<DType>(test.param))) + "_" +
                                  name_of(std::get<DeviceKind>(test.param));
                         });

}  // namespace
}  // namespace spire
