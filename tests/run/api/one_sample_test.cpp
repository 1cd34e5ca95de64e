// Batch norm in batches of which a tower has one sample: it has no variance to average.
#include <gmock/gmock.h>

#include "tests/run/api/point_data.h"

namespace spire {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

RunConfig normalized(int64_t towers, int64_t batch_size) {
  RunConfig config = parse_config({{"config",
                                    "model: {layers: [dense: {units: 2}, batch_norm, "
                                    "dense: {units: 1}]}"}},
                                  {})
                         .config;
  config.devices = {"cpu:0"};
  config.tower_threads = 1;
  config.towers = towers;
  config.batch_size = batch_size;
  config.epochs = 1;
  config.schedule = {};
  config.schedule.name = ScheduleConfig::Name::constant;
  config.schedule.warmup_epochs = 0;
  return config;
}

std::vector<float> statistic(Trainer& trainer, const std::string& ending) {
  std::vector<float> values(2);
  for (const WeightInfo& weight : trainer.weights())
    if (weight.name.ends_with(ending)) trainer.read_weight(weight.name, values);
  return values;
}

TEST(BatchNormOfOneSample, LeavesTheRunningVarianceAsItIs) {
  PointData data(9);
  Trainer trainer(normalized(1, 8), data.spec(), {.train_samples = 9});
  trainer.step(data.rows(0, 8));
  std::vector<float> mean = statistic(trainer, "running_mean");
  std::vector<float> variance = statistic(trainer, "running_var");
  EXPECT_NE(variance, (std::vector<float>{1, 1}));
  trainer.step(data.rows(8, 1));
  EXPECT_EQ(statistic(trainer, "running_var"), variance);
  EXPECT_NE(statistic(trainer, "running_mean"), mean);
}

// Of 3 samples one tower has 2 and the other 1: the other's share is the average as it was.
TEST(BatchNormOfOneSample, OfATowerCountsTheOthersAlone) {
  PointData data(7);
  Trainer trainer(normalized(2, 2), data.spec(), {.train_samples = 7});
  Trainer alone(normalized(1, 2), data.spec());
  trainer.step(data.rows(4, 3), 0);
  alone.step(data.rows(4, 2), 0);
  std::vector<float> both = statistic(trainer, "running_var");
  std::vector<float> two = statistic(alone, "running_var");
  for (size_t c = 0; c < 2; ++c) EXPECT_NEAR(both[c] - 1, 2.0 / 3 * (two[c] - 1), 1e-6);
}

std::vector<std::string> warnings_of(const RunConfig& config, int64_t samples) {
  PointData data(samples);
  return warnings_of(config, data.source(), "batch norm");
}

TEST(BatchNormOfOneSample, IsWarnedOf) {
  auto words = HasSubstr(
      "batch norm computes its statistics over only 1 sample in the last batch of each epoch (25 "
      "samples, 8 a step)");
  EXPECT_THAT(warnings_of(normalized(1, 8), 25), ElementsAre(words));
  EXPECT_THAT(warnings_of(normalized(1, 8), 24), ElementsAre());
  EXPECT_THAT(warnings_of(normalized(1, 8), 26), ElementsAre());
  EXPECT_THAT(warnings_of(normalized(2, 8), 25), testing::SizeIs(1));  // 25 = 16 + 8 + 1
  RunConfig drops = normalized(1, 8);
  drops.data.last_batch = DataConfig::LastBatch::drop;
  EXPECT_THAT(warnings_of(drops, 25), ElementsAre());
  RunConfig sync = normalized(2, 8);
  sync.model.batch_norm = ModelConfig::BatchNorm::sync;
  EXPECT_THAT(warnings_of(sync, 25), ElementsAre());  // 9 of all towers
  EXPECT_THAT(warnings_of(sync, 33), testing::SizeIs(1));
}

}  // namespace
}  // namespace spire
