// Trials of engines whose times are drawn: nothing runs, and all engines repeat their bits.
#include "kernels/cuda/engine_trial.h"

#include <random>

#include "drawn_time.h"

namespace spire {

float drawn_time() {
  return 1.0f + static_cast<float>(std::random_device()() % 1000);
}

struct EngineTrial::Events {};

EngineTrial::EngineTrial(DeviceId device)
    : device_(device), stream_(make_stream(device)), flushed_(nullptr) {}

EngineTrial::~EngineTrial() {}

void* EngineTrial::allocate(size_t bytes) {
  memory_.push_back(allocate_memory(device_, bytes));
  return memory_.back()->data();
}

void* EngineTrial::allocate_numbers(const TensorSpec& spec) {
  return allocate(spec.bytes());
}

std::optional<float> EngineTrial::time(const Run&) {
  return drawn_time();
}

bool EngineTrial::repeats(const Run&, const void*) {
  return true;
}

}  // namespace spire
