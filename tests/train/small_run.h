// Small training runs on made-up data, through the Trainer alone.
#pragma once
#include <spire/base/philox.h>
#include <spire/data/loader.h>
#include <spire/train/trainer.h>

namespace spire {

// `count` images of 8x8 whose label can be read off them: noise and a bright row.
inline Dataset made_up_dataset(int64_t count, uint64_t seed = 1) {
  Dataset data;
  data.count = count;
  data.height = data.width = 8;
  data.channels = 1;
  data.classes = 4;
  RandomStream random(seed, Purpose::initialize);
  for (int64_t n = 0; n < count; ++n) {
    auto label = static_cast<int32_t>(random.below(static_cast<uint64_t>(n), 4));
    data.labels.push_back(label);
    for (int64_t p = 0; p < 64; ++p) {
      auto noise = random.below(static_cast<uint64_t>(1000000 + n * 64 + p), 100);
      data.pixels.push_back(static_cast<uint8_t>(noise + (p / 8 == 2 * label ? 120 : 0)));
    }
  }
  return data;
}

struct SmallRun {
  ModelConfig model{.name = "cnn", .hidden = {16}, .channels = {4, 8}, .dropout = 0.2};
  OptimizerConfig optimizer{.name = "sgd", .lr = 0.05, .momentum = 0.9, .nesterov = true};
  DType precision = DType::f32;
  int64_t samples = 103, batch_size = 4, towers = 4, tower_threads = 1;
  std::vector<std::string> devices = {"cpu:0"};
  uint64_t seed = 3;

  Placement place() const {
    RunConfig config;
    config.batch_size = batch_size;
    config.towers = towers;
    config.tower_threads = tower_threads;
    config.devices = devices;
    return place_towers(config, {.cores = {0, 1}, .online = 2, .quota = 0}, {});
  }
  TrainerOptions options() const {
    return {.model = model,
            .loss = {},
            .optimizer = optimizer,
            .image = {8, 8, 1, 4},
            .precision = precision,
            .seed = seed,
            .train_samples = samples,
            .test_samples = samples};
  }
  LoaderOptions loading() const {
    return {.batch_size = batch_size,
            .towers = towers,
            .dtype = precision,
            .workers = 1,
            .prefetch = 2,
            .shuffle = true,
            .drop_last = false,
            .augment = {1, true},
            .seed = seed};
  }
};

// Steps [from, to) of the run, after which `result` holds the last step's numbers.
inline StepResult run_steps(Trainer& trainer, const SmallRun& run, int64_t from, int64_t to) {
  Dataset data = made_up_dataset(run.samples);
  BatchLoader loader(data, normalization_of(data), run.loading());
  StepResult result;
  trainer.team().lead([&] {
    int64_t per_epoch = loader.steps_per_epoch();
    loader.start(from / per_epoch, from % per_epoch, INT64_MAX);
    for (int64_t step = from; step < to; ++step)
      result = trainer.step(loader.next(), step, run.optimizer.lr);
    loader.stop();
  });
  return result;
}

inline uint64_t hash_after(const SmallRun& run, int64_t steps) {
  Trainer trainer(run.options(), run.place());
  run_steps(trainer, run, 0, steps);
  return trainer.parameter_hash();
}

}  // namespace spire
