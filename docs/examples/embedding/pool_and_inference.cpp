// A thread pool of the program computes outputs while the model trains.
#include <atomic>
#include <cmath>
#include <cstdio>
#include <random>
#include <thread>
#include <vector>

#include <spire/spire.h>

int main() try {
  std::mt19937 random(1);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> x(2 * 2048);
  std::vector<int32_t> inside(2048);
  for (float& each : x) each = uniform(random);
  for (size_t i = 0; i < inside.size(); ++i) inside[i] = std::hypot(x[2 * i], x[2 * i + 1]) < 0.7f;

  spire::RunConfig config;
  config.model = {.name = "mlp", .hidden = {32, 32}};
  config.devices = {"cpu"};
  config.batch_size = 64;
  config.epochs = 30;
  config.optimizer.lr = 0.3;
  spire::Trainer trainer(config,
                         spire::array_source({spire::array("features", x.data(), {2048, 2}),
                                              spire::array("labels", inside.data(), {2048})}));
  spire::InferenceSession model(trainer, {.rows = 16});

  std::atomic<bool> ends = false;
  std::atomic<int64_t> rows = 0, wrong = 0;
  std::vector<std::jthread> pool;
  struct End {  // also where something throws
    std::atomic<bool>& flag;
    ~End() { flag = true; }
  } end{ends};
  for (int worker = 0; worker < 3; ++worker)
    pool.emplace_back([&, worker] {
      std::vector<float> logits(2 * 16);
      for (int64_t first = 16 * worker; !ends; first = (first + 48) % 2000) {
        model.predict(&x[2 * first], 16, logits);
        for (int64_t i = 0; i < 16; ++i)
          wrong += (logits[2 * i + 1] > logits[2 * i]) != (inside[first + i] == 1);
        rows += 16;
      }
    });

  double early = 0, late = 0;  // shares of wrong answers
  auto share = [&] {
    rows = wrong = 0;
    while (rows < 4000) std::this_thread::yield();
    return static_cast<double>(wrong) / static_cast<double>(rows);
  };
  early = share();
  trainer.fit({.on_step = [&](const spire::StepResult&) {
    model.update(trainer);
    return true;
  }});
  late = share();
  std::printf("wrong at first %.2f, in the end %.2f\n", early, late);
  return late < 0.1 && late < early ? 0 : 1;
} catch (const spire::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return error.exit_code();
}
