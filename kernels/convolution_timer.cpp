#include <spire/base/error.h>
#include <spire/device/cuda_error.h>
#include <spire/kernels/convolution_timer.h>

#include <algorithm>

namespace spire {
namespace {

// More than a GPU's L2 holds. Clearing it before a run takes longer than giving the run to the
// stream, so that the events measure the device and not the host.
constexpr size_t flush_bytes = size_t{160} << 20;

size_t largest_workspace(std::span<const CudnnPlan> plans) {
  size_t bytes = 1;
  for (const CudnnPlan& plan : plans) bytes = std::max(bytes, plan.workspace_bytes());
  return bytes;
}

}  // namespace

struct ConvolutionTimer::Events {
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

ConvolutionTimer::ConvolutionTimer(const ConvolutionShape& s, const PreparedConvolution& prepared,
                                   DeviceId device, std::span<const CudnnPlan> plans)
    : prepared_(prepared),
      device_(device),
      stream_(make_stream(device)),
      flushed_(allocate(flush_bytes)),
      events_(std::make_unique<Events>()) {
  Shape filter{s.y[3], s.window.kernel.h, s.window.kernel.w, s.x[3] / s.groups};
  void* x = allocate(TensorSpec{s.x, s.dtype}.bytes());
  void* y = allocate(TensorSpec{s.y, s.dtype}.bytes());
  void* w = allocate(TensorSpec{filter, DType::f32}.bytes());  // a gradient's, the widest
  pointers_ = {.x = x, .filter = w, .y = y};
  if (s.pass == ConvolutionPass::forward) pointers_.y = nullptr, pointers_.result = y;
  if (s.pass == ConvolutionPass::backward_data) pointers_.x = nullptr, pointers_.result = x;
  if (s.pass == ConvolutionPass::backward_weights) pointers_.filter = nullptr, pointers_.result = w;
  size_t channels = static_cast<size_t>(s.y[3]);
  if (s.bias) pointers_.bias = static_cast<float*>(allocate(channels * sizeof(float)));
  pointers_.workspace = allocate(largest_workspace(plans));
}

ConvolutionTimer::~ConvolutionTimer() {
  try {
    stream_->synchronize();
  } catch (const Error&) {  // the next call on this device says it again
  }
}

void* ConvolutionTimer::allocate(size_t bytes) {
  memory_.push_back(allocate_memory(device_, bytes));
  stream_->fill_zero(memory_.back()->data(), bytes);
  return memory_.back()->data();
}

std::optional<float> ConvolutionTimer::time(const CudnnPlan& plan) {
  auto* stream = static_cast<cudaStream_t>(stream_->native());
  stream_->fill_zero(flushed_, flush_bytes);
  check_cuda(cudaEventRecord(events_->begin, stream), "cudaEventRecord");
  try {
    CudnnPack pack;
    prepared_.run(plan, pack, pointers_, stream);
  } catch (const Error&) {
    stream_->synchronize();  // throws where the device is ruined
    cudaGetLastError();      // else the next launch on this thread would see it
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
