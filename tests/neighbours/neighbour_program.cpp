// Trains a step in a process in which each of oneDNN's functions is first another library's.
#include <cmath>
#include <cstdio>
#include <vector>

#include <dlfcn.h>

#include <spire/spire.h>

int main() {
  auto other = reinterpret_cast<int (*)()>(::dlsym(RTLD_DEFAULT, "dnnl_primitive_execute"));
  if (!other || other() != 5) return std::puts("the other library's functions are not first"), 1;
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
