#include "kernels/cuda/engine_trial.h"

#include <algorithm>

#include "engine/base/fail.h"
#include "engine/device/cuda_error.h"

namespace spire {
namespace {

// More than the L2 cache of a GPU. Clearing it evicts the tensors, and keeps the GPU busy while the
// host submits the run, so that the events measure the device and not the host.
constexpr size_t flush_bytes = size_t{160} << 20;

// An order of additions that varies shows in any part of a result, and copies take their time.
constexpr size_t compared_bytes = size_t{32} << 20;

// Returns a number from -1 to 1 that looks random (a multiplicative hash; Knuth, TAOCP 6.4).
float number_at(uint32_t i) {
  return static_cast<float>(static_cast<int32_t>(i * 2654435769u)) * 0x1p-31f;
}

}  // namespace

struct EngineTrial::Events {
  Events() {
    check_cuda(cudaEventCreate(&begin), "cudaEventCreate");
    check_cuda(cudaEventCreate(&end), "cudaEventCreate");
  }
  ~Events() {
    if (begin) cudaEventDestroy(begin);
    if (end) cudaEventDestroy(end);
  }
  cudaEvent_t begin = nullptr, end = nullptr;
};

EngineTrial::EngineTrial(DeviceId device)
    : device_(device),
      stream_(make_stream(device)),
      flushed_(allocate(flush_bytes)),
      events_(std::make_unique<Events>()) {}

EngineTrial::~EngineTrial() {
  try {
    stream_->synchronize();
  } catch (const Error&) {  // the next call on this device reports it again
  }
}

void* EngineTrial::allocate(size_t bytes) {
  memory_.push_back(allocate_memory(device_, bytes));
  stream_->fill_zero(memory_.back()->data(), bytes);
  return memory_.back()->data();
}

// Fills the first part from the host and copies what is there behind itself until all is full.
void* EngineTrial::allocate_numbers(const TensorSpec& spec) {
  auto* memory = static_cast<std::byte*>(allocate(spec.bytes()));
  if (spec.dtype == DType::i32) return memory;
  with_any_float_type(spec.dtype, [&](auto zero) {
    std::vector<decltype(zero)> part(std::min(spec.bytes() / sizeof zero, size_t{1} << 16));
    for (uint32_t i = 0; i < part.size(); ++i) part[i] = number_at(i);
    size_t full = part.size() * sizeof zero;
    stream_->copy(memory, part.data(), full);
    for (size_t count; full < spec.bytes(); full += count) {
      count = std::min(full, spec.bytes() - full);
      stream_->copy(memory + full, memory, count);
    }
  });
  return memory;
}

// Returns false, and clears the error, if `run` throws. Throws if the device is corrupted.
bool EngineTrial::submit(const Run& run) {
  try {
    run(stream_->native());
    return true;
  } catch (const Error&) {
    stream_->synchronize();
    cudaGetLastError();  // which the next launch would else report
    return false;
  }
}

std::vector<std::byte> EngineTrial::result_of(const Run& run, const DeviceMemory& result) {
  if (!submit(run)) return {};
  stream_->synchronize();
  std::vector<std::byte> bits(std::min(result.bytes(), compared_bytes));
  result.read(bits.data(), bits.size());
  return bits;
}

bool EngineTrial::repeats(const Run& run, const void* result) {
  auto memory = std::ranges::find(memory_, result, [](const auto& m) { return m->data(); });
  require(memory != memory_.end(), "a result outside the trial's memory");
  auto first = result_of(run, **memory);
  return !first.empty() && first == result_of(run, **memory);
}

std::optional<float> EngineTrial::time(const Run& run) {
  auto* stream = static_cast<cudaStream_t>(stream_->native());
  stream_->fill_zero(flushed_, flush_bytes);
  check_cuda(cudaEventRecord(events_->begin, stream), "cudaEventRecord");
  if (!submit(run)) return std::nullopt;
  check_cuda(cudaEventRecord(events_->end, stream), "cudaEventRecord");
  stream_->synchronize();
  float milliseconds = 0;
  check_cuda(cudaEventElapsedTime(&milliseconds, events_->begin, events_->end),
             "cudaEventElapsedTime");
  return milliseconds;
}

}  // namespace spire
