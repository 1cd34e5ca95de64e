// What each program of this folder does: a step, which must have a loss.
#pragma once
#include <cmath>
#include <cstdio>
#include <vector>

#include <spire/spire.h>

inline int train_one_step() {
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
  std::printf("loss %g\n", loss);
  return std::isfinite(loss) ? 0 : 1;
}
