// Models of images with targets of their own end with one hash on any devices, processes and
// strategies, and learn what the targets are.
#include <cmath>

#include <gtest/gtest.h>

#include <spire/dataset.h>

#include "engine/data/images/degrade.h"
#include "tests/train/device_kinds.h"
#include "tests/train/small_run.h"

namespace spire {
namespace {

// Pixels (8, 8) of `count` images: a bright box on noise; masks: 1 in the box, 0 elsewhere, and no
// class in the uppermost row.
struct Boxes {
  explicit Boxes(int64_t count) {
    RandomStream random(5, Purpose::initialize);
    for (int64_t i = 0; i < count * 64; ++i) {
      int64_t sample = i / 64, y = i % 64 / 8, x = i % 8;
      bool inside = y >= sample % 4 && y < sample % 4 + 4 && x >= sample % 3 && x < sample % 3 + 5;
      auto noise = static_cast<uint8_t>(random.below(static_cast<uint64_t>(i), 100));
      pixels.push_back(static_cast<uint8_t>(inside ? 255 - noise : noise));
      masks.push_back(y == 0 ? -1 : static_cast<int32_t>(inside));
    }
  }
  std::vector<uint8_t> pixels;
  std::vector<int32_t> masks;
};

enum class Kind { noise, downscale, masks };

// The data of a run, as a loader reads it.
std::unique_ptr<Dataset> data_of(Kind kind, int64_t count, uint64_t seed) {
  Boxes boxes(count);
  std::vector<Array> arrays = {array("images", boxes.pixels.data(), {count, 8, 8, 1})};
  if (kind == Kind::masks) arrays.push_back(array("masks", boxes.masks.data(), {count, 8, 8}));
  ArrayOptions options{.normalization = {{0}, {1}}, .copy = true};
  auto made = [&] { return array_dataset(arrays, options); };
  if (kind == Kind::masks) return made();
  DegradeConfig degrade{.kind = kind == Kind::noise ? DegradeConfig::Kind::noise
                                                    : DegradeConfig::Kind::downscale};
  return std::move(degraded({made(), made()}, degrade, seed).train);
}

struct Ended {
  uint64_t hash = 0;
  double first_loss = 0, loss = 0, score = 0;  // of the last step

  bool operator==(const Ended&) const = default;
};

Ended train(const SmallRun& run, Kind kind, int64_t steps) {
  std::vector<Ended> ended(static_cast<size_t>(run.ranks));
  std::unique_ptr<Dataset> data = data_of(kind, run.samples, run.seed);
  on_ranks(run, run.options(*data), [&](TowerTrainer& trainer) {
    double first_loss = run_steps(trainer, run, *data, 0, 1).loss;
    StepOutcome last = run_steps(trainer, run, *data, 1, steps);
    ended[static_cast<size_t>(trainer.placement().rank)] = {trainer.parameter_hash(), first_loss,
                                                            last.loss, last.score};
  });
  for (const Ended& each : ended) EXPECT_EQ(each, ended[0]);
  return ended[0];
}

SmallRun unet_run() {
  SmallRun run;
  run.model = {
      .name = "unet", .channels = {4, 8}, .normalization = ModelConfig::Normalization::batch_norm};
  run.optimizer = {.name = OptimizerConfig::Name::adam, .lr = 0.01};
  run.tower_threads = 1;
  return run;
}

class ImageTargets : public testing::TestWithParam<Kind> {};

TEST_P(ImageTargets, OneHashOnAnyDevicesByAnyStrategy) {
  SmallRun run = unet_run();  // 103 samples in global batches of 16: the last one is ragged
  run.devices = devices_of(DeviceKind::cpu, 1);
  Ended expected = train(run, GetParam(), 10);
  for (const char* strategy : {"parameter_device", "mirrored", "sharded"})
    for (int devices : {1, 2, 3}) {
      run.strategy = strategy;
      run.devices = devices_of(DeviceKind::cpu, devices);
      EXPECT_EQ(train(run, GetParam(), 10), expected) << strategy << ", " << devices;
    }
  run.ranks = 2;
  run.devices = devices_of(DeviceKind::cpu, 1);
  EXPECT_EQ(train(run, GetParam(), 10), expected) << "two processes";
}

TEST_P(ImageTargets, AreLearned) {
  SmallRun run = unet_run();
  Ended ended = train(run, GetParam(), 120);
  EXPECT_LT(ended.loss, 0.5 * ended.first_loss);
  bool masks = GetParam() == Kind::masks;
  EXPECT_TRUE(!masks || ended.score > 0.9) << ended.score;  // share of pixels that are right
}

std::string name_of(const testing::TestParamInfo<Kind>& kind) {
  if (kind.param == Kind::masks) return "Masks";
  return kind.param == Kind::noise ? "Noise" : "Downscale";
}

INSTANTIATE_TEST_SUITE_P(Targets, ImageTargets,
                         testing::Values(Kind::noise, Kind::downscale, Kind::masks), name_of);

}  // namespace
}  // namespace spire
