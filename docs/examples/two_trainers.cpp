// Two trainers at once, each on a thread and a core of its own, with the same bits as one by one.
#include <cstdio>
#include <thread>
#include <vector>

#include <spire/spire.h>

namespace {

spire::RunConfig config(uint64_t seed) {
  spire::RunConfig config;
  config.model = {.name = "mlp", .hidden = {64}};
  config.data.name = "synthetic";
  config.data.synthetic.kind = spire::SyntheticConfig::Kind::features;
  config.data.synthetic.shape = {40};
  config.data.synthetic.samples = 2000;
  config.data.synthetic.test_samples = 500;
  config.devices = {"cpu"};
  config.towers = 2;
  config.tower_threads = 1;
  config.batch_size = 32;
  config.epochs = 2;
  config.seed = seed;
  return config;
}

uint64_t train(uint64_t seed) {
  spire::Trainer trainer(config(seed));
  trainer.fit();
  return trainer.parameter_hash();
}

}  // namespace

int main() try {
  uint64_t alone[2] = {train(1), train(2)}, together[2] = {};
  {
    std::jthread first([&] { together[0] = train(1); });
    std::jthread second([&] { together[1] = train(2); });
  }
  bool same = alone[0] == together[0] && alone[1] == together[1];
  std::printf("%s\n", same ? "the same bits" : "different bits");
  return same ? 0 : 1;
} catch (const spire::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return error.exit_code();
}
