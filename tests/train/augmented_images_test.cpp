// Training on images that every augmentation changes, and evaluating others of another size: one
// hash and one loss on any devices and ranks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/base/message_of.h"
#include "tests/train/small_run.h"

namespace spire {
namespace {

using testing::HasSubstr;

constexpr int64_t two_epochs = 14;  // of 103 samples in global batches of 16

// Stored images of 8 x 8 pixels, trained at 12 and evaluated at 16.
DataConfig augmented_data() {
  DataConfig config;
  config.image.size = 12;
  config.image.eval_size = 16;
  AugmentConfig& augment = config.augment;
  augment.crop = 1;
  augment.flip = augment.random_resized_crop = true;
  augment.min_scale = 0.5;
  augment.color_jitter = {.brightness = 0.2, .contrast = 0.2};
  augment.affine = {.rotate = 10, .translate = 0.1, .scale = 0.1, .shear = 5};
  augment.rand_augment = {.count = 2};
  augment.erase = {.probability = 0.5};
  return config;
}

struct TrainedAndEvaluated {
  uint64_t hash = 0;
  double loss = 0;
  bool operator==(const TrainedAndEvaluated&) const = default;
};

DatasetPair open_data(const SmallRun& run) {
  return make_image_pair(made_up_dataset(run.samples), made_up_dataset(run.samples, 2),
                         augmented_data(), {run.precision, run.seed});
}

TrainedAndEvaluated result_of(const SmallRun& run) {
  DatasetPair data = open_data(run);
  std::vector<TrainedAndEvaluated> results(static_cast<size_t>(run.ranks));
  on_ranks(run, run.options(*data.train, data.test.get()), [&](TowerTrainer& trainer) {
    run_steps(trainer, run, *data.train, 0, two_epochs);
    double loss = evaluate(trainer, run, *data.test).loss;
    results[static_cast<size_t>(trainer.placement().rank)] = {trainer.parameter_hash(), loss};
  });
  for (const TrainedAndEvaluated& result : results) EXPECT_EQ(result, results[0]);
  return results[0];
}

TEST(AugmentedImages, TrainToOneHashOnAnyDevices) {
  SmallRun run;
  run.model = {.name = "resnet", .depth = 8};
  TrainedAndEvaluated expected = result_of(run);
  EXPECT_GT(expected.loss, 0);
  for (const std::vector<std::string>& devices :
       {std::vector<std::string>{"cpu:0", "cpu:1"},
        std::vector<std::string>{"cpu:0", "cpu:1", "cpu:2", "cpu:3"}}) {
    run.devices = devices;
    EXPECT_EQ(result_of(run), expected) << devices.size() << " devices";
  }
  run.devices = {"cpu:0"};
  run.ranks = 2;
  EXPECT_EQ(result_of(run), expected);
}

TEST(AugmentedImages, ModelsThatNeedOneSizeAreRefused) {
  SmallRun run;
  run.model = {.name = "mlp", .hidden = {8}};
  DatasetPair data = open_data(run);
  auto make = [&] { TowerTrainer(run.options(*data.train, data.test.get()), run.place()); };
  EXPECT_THAT(message_of(Category::config, make),
              testing::AllOf(HasSubstr("data.image.eval_size: 'dense1.weight' has shape"),
                             HasSubstr("use a model that reads any size")));
}

}  // namespace
}  // namespace spire
