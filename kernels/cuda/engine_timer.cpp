#include "kernels/cuda/engine_timer.h"

#include <spire/error.h>

#include "engine/device/cuda_error.h"

namespace spire {
namespace {

// More than the L2 cache of a GPU. Clearing it evicts the tensors, and keeps the GPU busy while the
// host submits the run, so that the events measure the device and not the host.
constexpr size_t flush_bytes = size_t{160} << 20;

}  // namespace

struct EngineTimer::Events {
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

EngineTimer::EngineTimer(DeviceId device)
    : device_(device),
      stream_(make_stream(device)),
      flushed_(allocate(flush_bytes)),
      events_(std::make_unique<Events>()) {}

EngineTimer::~EngineTimer() {
  try {
    stream_->synchronize();
  } catch (const Error&) {  // the next call on this device reports it again
  }
}

void* EngineTimer::allocate(size_t bytes) {
  memory_.push_back(allocate_memory(device_, bytes));
  stream_->fill_zero(memory_.back()->data(), bytes);
  return memory_.back()->data();
}

std::optional<float> EngineTimer::time(const std::function<void(void* stream)>& run) {
  auto* stream = static_cast<cudaStream_t>(stream_->native());
  stream_->fill_zero(flushed_, flush_bytes);
  check_cuda(cudaEventRecord(events_->begin, stream), "cudaEventRecord");
  try {
    run(stream);
  } catch (const Error&) {
    stream_->synchronize();  // throws if the device is corrupted
    cudaGetLastError();      // clears the error, which the next launch would else report
    return std::nullopt;
  }
  check_cuda(cudaEventRecord(events_->end, stream), "cudaEventRecord");
  stream_->synchronize();
  float milliseconds = 0;
  check_cuda(cudaEventElapsedTime(&milliseconds, events_->begin, events_->end),
             "cudaEventElapsedTime");
  return milliseconds;
}

}  // namespace spire
