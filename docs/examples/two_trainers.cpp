// Two trainers at once, each on a thread of its own, with the same bits as one by one.
#include <cstdio>
#include <future>

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
  uint64_t alone[2] = {train(1), train(2)};
  std::future<uint64_t> first = std::async(std::launch::async, train, 1);
  std::future<uint64_t> second = std::async(std::launch::async, train, 2);
  bool same = first.get() == alone[0] && second.get() == alone[1];
  std::printf("%s\n", same ? "the same bits" : "different bits");
  return same ? 0 : 1;
} catch (const spire::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return error.exit_code();
}
