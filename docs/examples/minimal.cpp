// Trains a classifier on arrays in memory: is a point inside the circle?
#include <cstdio>
#include <random>
#include <vector>

#include <spire/spire.h>

int main() try {
  std::mt19937 random(1);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> points;    // (4000, 2)
  std::vector<int32_t> inside;  // (4000)
  for (int i = 0; i < 4000; ++i) {
    float x = uniform(random), y = uniform(random);
    points.insert(points.end(), {x, y});
    inside.push_back(x * x + y * y < 0.5f);
  }
  spire::RunConfig config;
  config.model = {.name = "mlp", .hidden = {32, 32}};
  config.optimizer.lr = 0.1;
  config.batch_size = 50;
  config.epochs = 20;
  spire::Trainer trainer(config,
                         spire::array_source({spire::array("features", points.data(), {4000, 2}),
                                              spire::array("labels", inside.data(), {4000})}));
  spire::EvaluationResult result = trainer.fit();
  std::printf("accuracy %.3f\n", result.metric.value);
  return result.metric.value > 0.95 ? 0 : 1;
} catch (const spire::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return error.exit_code();
}
