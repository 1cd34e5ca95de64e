// Training on images that every augmentation changes, and evaluating others of another size: one
// hash and one loss on any devices and ranks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/base/message_of.h"
#include "tests/train/small_run.h"

namespace spire {
namespace {

using testing::HasSubstr;

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

TowerTrainerOptions options_of(const SmallRun& run, const DatasetPair& data) {
  TowerTrainerOptions options = run.options();
  options.train_columns = data.train->spec().columns;
  options.test_columns = data.test->spec().columns;
  return options;
}

DatasetPair open_data(const SmallRun& run) {
  return make_image_pair(made_up_dataset(run.samples), made_up_dataset(run.samples, 2),
                         augmented_data(), {run.precision, run.seed});
}

TrainedAndEvaluated train_and_evaluate(TowerTrainer& trainer, const SmallRun& run,
                                       const DatasetPair& data) {
  BatchLoader train(*data.train, run.loading(trainer.placement().rank));
  LoaderOptions in_order = run.loading(trainer.placement().rank);
  in_order.shuffle = false;
  BatchLoader test(*data.test, in_order);
  EvaluationSums sums;
  trainer.team().lead([&] {
    train.start(0, 0, 2);
    for (int64_t step = 0; !train.finished(); ++step)
      trainer.step(train.next(), step, run.optimizer.lr);
    test.start(0, 0, 1);
    trainer.begin_evaluation();
    while (!test.finished()) trainer.evaluate(test.next(), sums);
    trainer.end_evaluation();
  });
  return {trainer.parameter_hash(), sums.loss};
}

TrainedAndEvaluated result_of(const SmallRun& run) {
  DatasetPair data = open_data(run);
  std::vector<TrainedAndEvaluated> results(static_cast<size_t>(run.ranks));
  auto groups = threads_groups(run.ranks);
  run_ranks(run.ranks, [&](int rank) {
    TowerTrainer trainer(options_of(run, data), run.place(rank),
                         groups[static_cast<size_t>(rank)].get());
    results[static_cast<size_t>(rank)] = train_and_evaluate(trainer, run, data);
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
  EXPECT_THAT(message_of(Category::config,
                         [&] { TowerTrainer trainer(options_of(run, data), run.place()); }),
              testing::AllOf(HasSubstr("data.image.eval_size: 'dense1.weight' has shape"),
                             HasSubstr("use a model that reads any size")));
}

}  // namespace
}  // namespace spire
