// Data of a program's own: samples that a function makes, and batches that the program hands over.
#include <cstdio>
#include <random>
#include <vector>

#include <spire/spire.h>

namespace {

constexpr int64_t width = 8;

spire::SampleSpec spec() {
  spire::SampleSpec spec;
  spec.columns = {{"features", {width}, spire::DType::f32}, {"labels", {}, spire::DType::i32}};
  spec.classes = 2;
  return spec;
}

// The class is 1 where the sum is positive.
int32_t make_sample(uint64_t seed, float* features) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  float sum = 0;
  for (int64_t i = 0; i < width; ++i) sum += features[i] = normal(random);
  return sum > 0;
}

// Reader threads call it ahead of the steps.
void read(int64_t sample, int64_t, const std::vector<std::byte*>& rows) {
  auto* label = reinterpret_cast<int32_t*>(rows[1]);
  *label = make_sample(static_cast<uint64_t>(sample), reinterpret_cast<float*>(rows[0]));
}

spire::RunConfig config() {
  spire::RunConfig config;
  config.model.name = "linear";
  config.batch_size = 64;
  config.epochs = 4;
  return config;
}

double train_on_function() {
  spire::DataSource source = [](const spire::ReadOptions&) {
    spire::DatasetPair pair;
    pair.train = spire::function_dataset(spec(), 10000, read);
    pair.test = spire::function_dataset(spec(), 1000, read);
    return pair;
  };
  spire::Trainer trainer(config(), source);
  return trainer.fit().metric.value;
}

double train_on_batches() {
  spire::Trainer trainer(config(), spec());
  auto rows = static_cast<size_t>(trainer.global_batch());
  std::vector<float> features(rows * width);
  std::vector<int32_t> labels(rows);
  spire::Samples batch{{features.data(), labels.data()}, trainer.global_batch()};
  uint64_t seed = 0;
  for (int step = 0; step < 300; ++step) {
    for (size_t row = 0; row < rows; ++row)
      labels[row] = make_sample(seed++, features.data() + row * width);
    trainer.step(batch);
  }
  return trainer.evaluate(batch).metric.value;
}

}  // namespace

int main() try {
  double by_function = train_on_function(), by_batches = train_on_batches();
  std::printf("accuracy: function %.3f, batches %.3f\n", by_function, by_batches);
  return by_function > 0.95 && by_batches > 0.95 ? 0 : 1;
} catch (const spire::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return error.exit_code();
}
