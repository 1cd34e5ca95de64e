// A plug-in that trains: a shared library with a C function, which plugin_host opens and closes.
#include <exception>

#include <spire/spire.h>

// Learns y = 2 x + 1 and returns the output for `at`; a NaN if something failed.
extern "C" SPIRE_API float learn_line(float at) try {
  float x[64], y[64];
  for (int i = 0; i < 64; ++i) {
    x[i] = static_cast<float>(i) / 32 - 1;
    y[i] = 2 * x[i] + 1;
  }
  spire::RunConfig config;
  config.model.name = "linear";
  config.devices = {"cpu"};
  config.towers = 2;
  config.batch_size = 32;
  config.optimizer.lr = 0.1;
  config.schedule.name = spire::ScheduleConfig::Name::constant;
  spire::SampleSpec data;
  data.columns = {{"features", {1}, spire::DType::f32}, {"values", {1}, spire::DType::f32}};
  spire::Trainer trainer(config, data);
  for (int step = 0; step < 200; ++step) trainer.step({{x, y}, 64});
  return trainer.predict(&at, 1)[0];
} catch (const std::exception&) {
  return 0.0f / 0.0f;
}
