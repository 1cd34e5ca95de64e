// The regressor of native_peer/latency.cpp on Spire: a Trainer, and InferenceSessions beside it.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include <spire/spire.h>

#include "native_peer/latency.h"

int main(int argc, char** argv) try {
  auto begin = latency::start_of_program(argc, argv);
  spire::RunConfig config;
  config.model = {.name = "mlp", .hidden = {latency::width, latency::width}};
  config.devices = {"cpu"};
  config.towers = 1;
  config.tower_threads = 1;
  config.batch_size = latency::batch;
  config.optimizer.name = spire::OptimizerConfig::Name::adam;
  config.optimizer.lr = 1e-3;
  config.schedule.name = spire::ScheduleConfig::Name::constant;
  spire::SampleSpec spec;
  spec.columns = {{"features", {latency::features}, spire::DType::f32},
                  {"values", {latency::outputs}, spire::DType::f32}};
  latency::Batch batch;
  spire::Trainer trainer(config, spec, {.predict_rows = 0});
  auto step = [&] { trainer.step({{batch.x.data(), batch.y.data()}, latency::batch}); };
  step();
  std::printf("first_step %.1f\n", latency::microseconds_since(begin) / 1000);
  latency::print("step_64", 2000, step);
  const std::vector<spire::WeightInfo> weights = trainer.weights();
  latency::print("parts_64", 2000, [&] {  // clipped to a norm of 1, by hand
    trainer.compute_gradients({{batch.x.data(), batch.y.data()}, latency::batch});
    double squares = 0;
    for (const spire::WeightInfo& weight : weights)
      for (float value : trainer.gradient(weight.name)) squares += value * value;
    auto factor = static_cast<float>(1 / std::max(1.0, std::sqrt(squares)));
    for (const spire::WeightInfo& weight : weights)
      for (float& value : trainer.gradient(weight.name)) value *= factor;
    trainer.update();
  });
  spire::InferenceSession one(trainer, {.rows = 1}), many(trainer, {.rows = latency::batch});
  std::vector<float> out(latency::batch * latency::outputs);
  latency::print("predict_1", 10000,
                 [&] { one.predict(batch.x.data(), 1, std::span(out).first(latency::outputs)); });
  latency::print("predict_64", 5000, [&] { many.predict(batch.x.data(), latency::batch, out); });
  latency::print_memory();
  return 0;
} catch (const spire::Error& error) {
  std::fprintf(stderr, "library_latency: %s\n", error.what());
  return error.exit_code();
}
