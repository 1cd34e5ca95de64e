// Tests of precision: exact: one hash for any split of a global batch into towers, on any devices
// and by any number of processes, and one for all kinds of devices.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <spire/error.h>

#include "tests/base/message_of.h"
#include "tests/train/device_kinds.h"
#include "tests/train/small_run.h"

namespace spire {
namespace {

using Name = OptimizerConfig::Name;

struct Split {
  int64_t towers, batch_size;
  std::optional<int64_t> global_batch = {};
};

struct ExactRow {
  std::string name;
  std::function<void(SmallRun&)> change;
};

// With a global batch of 24 the second step has 7 samples, so one tower has fewer than the others
// and some have none. The third step is of the next epoch.
constexpr int64_t samples = 31, exact_steps = 3;

SmallRun exact_run(const ExactRow& row, const Split& split) {
  SmallRun run;
  run.exact = true;
  run.samples = samples;
  row.change(run);
  run.towers = split.towers;
  run.batch_size = split.batch_size;
  run.global_batch = split.global_batch;
  return run;
}

class Exact : public SkipsWithoutGpu<testing::TestWithParam<std::tuple<ExactRow, DeviceKind>>> {
 protected:
  void SetUp() override { skip_without_gpu(kind()); }
  static DeviceKind kind() { return std::get<DeviceKind>(GetParam()); }
  static const ExactRow& row() { return std::get<ExactRow>(GetParam()); }
};

TEST_P(Exact, OneHashForAnySplitOfTheGlobalBatch) {
  SmallRun whole = exact_run(row(), {1, 24});
  whole.devices = devices_of(kind(), 1);
  uint64_t expected = hash_after(whole, exact_steps);
  std::vector<Split> splits = {{3, 8}, {6, 4}};
  if (kind() == DeviceKind::cpu) splits.insert(splits.end(), {{2, 12}, {4, 6}, {24, 1}});
  for (Split split : splits) {
    SmallRun run = exact_run(row(), split);
    run.devices = devices_of(kind(), 1);
    EXPECT_EQ(hash_after(run, exact_steps), expected) << split.towers << " x " << split.batch_size;
  }
}

// 5, 5, 5, 5 and 4 samples of 24, and 7, 7 and 6 of 20.
TEST_P(Exact, OneHashForUnevenTowers) {
  for (Split split : {Split{5, 5, 24}, {3, 7, 20}}) {
    SmallRun whole = exact_run(row(), {1, *split.global_batch}), uneven = exact_run(row(), split);
    whole.devices = devices_of(kind(), 1);
    uneven.devices = devices_of(kind(), kind() == DeviceKind::cpu ? 2 : 1);
    EXPECT_EQ(hash_after(uneven, exact_steps), hash_after(whole, exact_steps))
        << split.towers << " towers";
  }
}

TEST_P(Exact, OneHashOnAnyDevicesProcessesAndStrategies) {
  SmallRun whole = exact_run(row(), {1, 24});
  whole.devices = devices_of(kind(), 1);
  uint64_t expected = hash_after(whole, exact_steps);
  SmallRun run = exact_run(row(), {6, 4});
  for (const char* strategy : {"parameter_device", "mirrored", "sharded"}) {
    run.strategy = strategy;
    run.devices = devices_of(kind(), run.strategy == "mirrored" ? 3 : 2);
    EXPECT_EQ(hash_after(run, exact_steps), expected) << strategy;
  }
  run.reduction = "native";
  EXPECT_EQ(hash_after(run, exact_steps), expected) << "native";
  run.reduction = "invariant";
  for (int ranks : {2, 3}) {
    if (!can_share(kind(), ranks, ranks)) continue;
    run.ranks = ranks;
    run.devices = devices_of_rank(kind(), ranks, ranks);
    EXPECT_EQ(hash_after(run, exact_steps), expected) << ranks << " processes";
  }
}

TEST_P(Exact, AGpusHashIsTheCpus) {
  if (kind() == DeviceKind::cpu) GTEST_SKIP() << "compares with itself";
  SmallRun on_cpu = exact_run(row(), {2, 12}), on_gpu = exact_run(row(), {3, 8});
  if (on_cpu.optimizer.clip_norm > 0) GTEST_SKIP() << "a GPU sums norms in another order";
  on_cpu.tower_threads = 2;
  on_gpu.devices = devices_of(kind(), 1);
  EXPECT_EQ(hash_after(on_gpu, exact_steps), hash_after(on_cpu, exact_steps));
}

const std::vector<ExactRow> exact_rows = {
    {"linear_sgd", [](SmallRun& r) { r.model = {.name = "linear"}; }},
    {"linear_mse",
     [](SmallRun& r) {
       r.model = {.name = "linear"};
       r.loss.name = LossConfig::Name::mse;
     }},
    {"mlp_adamw",
     [](SmallRun& r) {
       r.model = {.name = "mlp", .hidden = {20, 12}, .dropout = 0.2};
       r.loss.label_smoothing = 0.1;
       r.optimizer = {.name = Name::adamw, .lr = 0.01, .weight_decay = 0.01};
       r.ema = {.decay = 0.9};
     }},
    {"mlp_adam_clipped",
     [](SmallRun& r) {
       r.model = {.name = "mlp", .hidden = {20}};
       r.optimizer = {.name = Name::adam, .lr = 0.01, .clip_norm = 0.5};
     }},
    {"cnn_momentum", [](SmallRun&) {}},
};

INSTANTIATE_TEST_SUITE_P(All, Exact,
                         testing::Combine(testing::ValuesIn(exact_rows),
                                          testing::Values(DeviceKind::cpu, DeviceKind::cuda)),
                         [](const auto& test) {
                           return std::get<ExactRow>(test.param).name + "_" +
                                  name_of(std::get<DeviceKind>(test.param));
                         });

// So equal hashes above prove something: without exact sums each split has its own.
TEST(ExactTowers, Fp32HasAnotherHashForAnotherSplit) {
  SmallRun whole, split;
  whole.towers = 1, whole.batch_size = 24;
  split.towers = 4, split.batch_size = 6;
  EXPECT_NE(hash_after(whole, exact_steps), hash_after(split, exact_steps));
}

TEST(ExactTowers, DoNotDependOnThreads) {
  SmallRun run;
  run.exact = true;
  uint64_t expected = hash_after(run, exact_steps);
  run.tower_threads = 2;
  EXPECT_EQ(hash_after(run, exact_steps), expected);
}

TEST(ExactTowers, DoNotDependOnWhatIsRecomputed) {
  ExactRow cnn{"cnn", [](SmallRun&) {}};
  SmallRun whole = exact_run(cnn, {1, 24}), split = exact_run(cnn, {4, 6});
  split.recompute = true;
  EXPECT_EQ(hash_after(split, exact_steps), hash_after(whole, exact_steps));
}

// The reported loss, too, is a sum of numbers on one grid.
TEST(ExactTowers, ReportOneLossForAnySplit) {
  auto loss_of = [](Split split) {
    SmallRun run;
    run.exact = true;
    run.towers = split.towers, run.batch_size = split.batch_size;
    TowerTrainer trainer(run.options(), run.place());
    return run_steps(trainer, run, 0, exact_steps).loss;
  };
  EXPECT_EQ(loss_of({1, 24}), loss_of({4, 6}));
}

std::string refusal_of(const std::function<void(SmallRun&)>& change) {
  SmallRun run;
  run.exact = true;
  change(run);
  return message_of(Category::config, [&] { TowerTrainer(run.options(), run.place()); });
}

TEST(ExactTowers, RefuseOpsWithoutAnExactForm) {
  using testing::HasSubstr;
  EXPECT_THAT(refusal_of([](SmallRun& r) {
                r.model.normalization = ModelConfig::Normalization::batch_norm;
              }),
              HasSubstr("precision: exact cannot compute 'batch_norm' of layer 'conv1.norm'; it "
                        "trains linear, mlp, and cnn"));
  EXPECT_THAT(refusal_of([](SmallRun& r) { r.model = {.name = "lenet"}; }),
              HasSubstr("precision: exact cannot compute 'tanh'"));
}

}  // namespace
}  // namespace spire
