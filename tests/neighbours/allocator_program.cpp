// Trains a step in a program whose operator new puts a header before each block, so that a library
// that frees by another operator delete ends it.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <vector>

#include <spire/spire.h>

namespace {

constexpr size_t header = 64;

void* allocate(size_t bytes) {
  void* block = std::malloc(bytes + header);
  if (!block) throw std::bad_alloc();
  return static_cast<char*>(block) + header;
}

void release(void* memory) {
  if (memory) std::free(static_cast<char*>(memory) - header);
}

}  // namespace

void* operator new(size_t bytes) {
  return allocate(bytes);
}
void* operator new[](size_t bytes) {
  return allocate(bytes);
}
void operator delete(void* memory) noexcept {
  release(memory);
}
void operator delete[](void* memory) noexcept {
  release(memory);
}
void operator delete(void* memory, size_t) noexcept {
  release(memory);
}
void operator delete[](void* memory, size_t) noexcept {
  release(memory);
}

int main() {
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
