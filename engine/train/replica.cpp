#include "engine/train/replica.h"

namespace spire::inline training {

void Replica::allocate(MemoryPool& memory) {
  weights = memory.allocate(MemoryKind::weights, weight_bytes_);
  forms.allocate(memory);
}

float* Replica::read(Buffer& copy) const {
  if (weights->on_host()) return values();
  if (copy.bytes() < weights->bytes()) copy = Buffer(weights->bytes());
  weights->read(copy.data(), weights->bytes());
  return copy.as<float>();
}

void Replica::write(const float* from) {
  if (from != values()) weights->write(from, weights->bytes());
}

}  // namespace spire::inline training
