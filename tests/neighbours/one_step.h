// What each program of this folder does: a step, which must have a loss.
#pragma once
#include <cmath>
#include <cstdio>
#include <vector>

#include <spire/spire.h>

// A trainer that has done a step.
inline spire::Trainer trainer_of_one_step() {
  spire::RunConfig config;
  config.model = {.name = "mlp", .hidden = {16}};
  config.devices = {"cpu"};
  config.towers = 1;
  config.batch_size = 8;
  spire::SampleSpec spec;
  spec.columns = {{"features", {4}, spire::DType::f32}, {"values", {1}, spire::DType::f32}};
  std::vector<float> features(32, 0.5f), values(8, 1);
  spire::Trainer trainer(config, spec);
  double loss = trainer.step({{features.data(), values.data()}, 8}).loss;
  if (!std::isfinite(loss)) throw spire::Error(spire::Category::diverged, "no loss");
  std::printf("loss %g\n", loss);
  return trainer;
}

inline int train_one_step() try {
  trainer_of_one_step();
  return 0;
} catch (const spire::Error& error) {
  std::printf("%s\n", error.what());
  return 1;
}
