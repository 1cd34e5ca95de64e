// Learns from a ring buffer while another thread asks for outputs, as a controller does.
#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <random>
#include <thread>
#include <vector>

#include <spire/spire.h>

constexpr int64_t capacity = 1024, batch = 64;

struct Sample {  // as the sensors write it
  float x[3], y;
};

float truth(const float* x) {
  return std::sin(2 * x[0]) + x[1] * x[2];
}

// Rows of one member of the samples from `first` on: no copy is made of the buffer.
spire::Array rows(const char* column, const float* member, int64_t width) {
  return spire::array(column, member, {batch, width}, {sizeof(Sample) / sizeof(float), 1});
}

int main() try {
  std::mt19937 random(1);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<Sample> ring(capacity);
  auto measure = [&](Sample& sample) {
    for (float& x : sample.x) x = uniform(random);
    sample.y = truth(sample.x);
  };
  for (Sample& sample : ring) measure(sample);

  spire::RunConfig config;
  config.model = {.name = "mlp", .hidden = {32, 32}};
  config.optimizer.name = spire::OptimizerConfig::Name::adam;
  config.optimizer.lr = 0.01;
  config.schedule.name = spire::ScheduleConfig::Name::constant;
  config.devices = {"cpu"};
  config.towers = 1;
  config.tower_threads = 1;
  config.batch_size = batch;
  spire::SampleSpec data;
  data.columns = {{"features", {3}, spire::DType::f32}, {"values", {1}, spire::DType::f32}};
  spire::Trainer trainer(config, data);
  spire::InferenceSession model(trainer, {.rows = 1});

  std::atomic<int64_t> answers{0};
  std::jthread controller([&](std::stop_token ends) {
    std::array<float, 3> state = {0.1f, 0.2f, 0.3f};
    std::array<float, 1> output;
    for (; !ends.stop_requested(); ++answers) model.predict(state.data(), 1, output);
  });

  for (int64_t step = 0; step < 2000; ++step) {
    for (int64_t i = 0; i < 8; ++i) measure(ring[(step * 8 + i) % capacity]);
    int64_t first = random() % (capacity - batch);
    trainer.step({{rows("features", ring[first].x, 3), rows("values", &ring[first].y, 1)}, batch});
    if (step % 10 == 0) model.update(trainer);
  }
  controller.request_stop();
  controller.join();
  model.update(trainer);

  float worst = 0;
  for (const Sample& sample : ring) {
    std::array<float, 1> output;
    model.predict(sample.x, 1, output);
    worst = std::max(worst, std::abs(output[0] - sample.y));
  }
  std::printf("%lld answers; worst error %.3f\n", (long long)answers.load(), worst);
  return answers > 0 && worst < 0.2f ? 0 : 1;
} catch (const spire::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return error.exit_code();
}
