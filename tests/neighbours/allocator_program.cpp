// Trains a step in a program whose operator new puts a header before each block, so that a library
// that frees by another operator delete ends it.
#include <cstdlib>
#include <new>

#include "one_step.h"

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
  return train_one_step();
}
