// Reads and clips gradients between backward and update, adds up two batches for a step, and
// leaves out steps whose towers disagree.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

#include <spire/spire.h>

int main() try {
  std::mt19937 random(1);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> x(3 * 4096), y(4096);
  for (float& each : x) each = uniform(random);
  for (size_t i = 0; i < y.size(); ++i) y[i] = x[3 * i] - 2 * x[3 * i + 1] * x[3 * i + 2];
  for (size_t i = 1024; i < 1088; ++i) y[i] = 1e4f;  // a sensor that failed for a while

  spire::RunConfig config;
  config.model = {.name = "mlp", .hidden = {32}};
  config.devices = {"cpu"};
  config.towers = 2;
  config.tower_threads = 1;
  config.batch_size = 32;
  config.optimizer.lr = 0.1;
  config.schedule.name = spire::ScheduleConfig::Name::constant;
  spire::SampleSpec data;
  data.columns = {{"features", {3}, spire::DType::f32}, {"values", {1}, spire::DType::f32}};
  spire::Trainer trainer(config, data);

  int64_t left_out = 0;
  spire::StepResult last;
  for (int64_t first = 0, round = 0; round < 30 * 32; ++round, first = (first + 128) % 4096) {
    double norms[2] = {0, 0};                 // of each tower
    for (int64_t part : {first, first + 64})  // two batches make a step
      trainer.compute_gradients(
          {{&x[3 * part], &y[part]}, 64},
          [&](int tower, const std::string&, std::span<const float> gradient) {
            for (float value : gradient) norms[tower] += value * value;
          });
    if (std::max(norms[0], norms[1]) > 1e4) {
      trainer.reject();
      ++left_out;
      continue;
    }
    for (const spire::WeightInfo& weight : trainer.weights())
      for (float& value : trainer.gradient(weight.name)) value = std::clamp(value, -0.5f, 0.5f);
    last = trainer.update();
  }
  std::printf("%lld steps, %lld left out, loss %.4f\n", (long long)trainer.steps_done(),
              (long long)left_out, last.loss);
  return left_out == 30 && trainer.steps_done() == 30 * 31 && last.loss < 0.05 ? 0 : 1;
} catch (const spire::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return error.exit_code();
}
