#include <algorithm>

#include "engine/base/fail.h"
#include "engine/device/cuda_error.h"
#include "engine/device/device.h"
#include "engine/device/stream.h"

namespace spire {
namespace {

// Without timing an event is cheaper to record and to wait for.
class CudaEvent : public Event {
 public:
  explicit CudaEvent(Timing timing) {
    unsigned flags = timing == Timing::on ? cudaEventDefault : cudaEventDisableTiming;
    check_cuda(cudaEventCreateWithFlags(&event_, flags), "cudaEventCreateWithFlags");
  }
  ~CudaEvent() override { cudaEventDestroy(event_); }
  CudaEvent(const CudaEvent&) = delete;
  CudaEvent& operator=(const CudaEvent&) = delete;
  cudaEvent_t get() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

// An executable CUDA graph (CUDA Programming Guide, "CUDA Graphs"). Takes ownership of `graph`,
// which is not needed once it is instantiated.
class CudaRecording : public Recording {
 public:
  explicit CudaRecording(cudaGraph_t graph) {
    cudaError_t code = cudaGraphInstantiate(&graph_, graph, 0);
    cudaGraphDestroy(graph);
    check_cuda(code, "cudaGraphInstantiate");
  }
  ~CudaRecording() override { cudaGraphExecDestroy(graph_); }
  CudaRecording(const CudaRecording&) = delete;
  CudaRecording& operator=(const CudaRecording&) = delete;
  cudaGraphExec_t get() const { return graph_; }

 private:
  cudaGraphExec_t graph_ = nullptr;
};

// Non-blocking: the legacy default stream, which libraries may use, must not serialize with ours.
cudaStream_t create_stream(int index, StreamPriority priority) {
  CurrentCudaDevice current(index);
  cudaStream_t stream = nullptr;
  int lowest = 0, highest = 0;
  check_cuda(cudaDeviceGetStreamPriorityRange(&lowest, &highest),
             "cudaDeviceGetStreamPriorityRange");
  int number = priority == StreamPriority::high ? highest : lowest;
  check_cuda(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, number),
             "cudaStreamCreateWithPriority");
  return stream;
}

class CudaStream : public Stream {
 public:
  CudaStream(int index, StreamPriority priority)
      : Stream({DeviceKind::cuda, index}, create_stream(index, priority)) {}
  ~CudaStream() override { cudaStreamDestroy(stream()); }

  void copy(void* to, const void* from, size_t bytes) override {
    if (bytes == 0) return;
    // Default: unified addressing tells the direction from the two addresses.
    check_cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream()), "cudaMemcpyAsync");
  }
  void fill_zero(void* memory, size_t bytes) override {
    if (bytes == 0) return;
    check_cuda(cudaMemsetAsync(memory, 0, bytes, stream()), "cudaMemsetAsync");
  }
  std::unique_ptr<Event> make_event(Timing timing) const override {
    CurrentCudaDevice current(device().index);
    return std::make_unique<CudaEvent>(timing);
  }
  void record(Event& event) override {
    check_cuda(cudaEventRecord(of(event), stream()), "cudaEventRecord");
  }
  void wait_for(const Event& event) override {
    check_cuda(cudaStreamWaitEvent(stream(), of(event), 0), "cudaStreamWaitEvent");
  }
  void await(const Event& event) override {
    check_cuda(cudaEventSynchronize(of(event)), "cudaEventSynchronize");
  }
  bool reached(const Event& event) override {
    cudaError_t code = cudaEventQuery(of(event));
    if (code == cudaErrorNotReady) return false;
    check_cuda(code, "cudaEventQuery");
    return true;
  }
  double seconds_between(const Event& begin, const Event& end) override {
    float milliseconds = 0;
    check_cuda(cudaEventElapsedTime(&milliseconds, of(begin), of(end)), "cudaEventElapsedTime");
    return 1e-3 * double{milliseconds};
  }
  void synchronize() override {
    check_cuda(cudaStreamSynchronize(stream()), "cudaStreamSynchronize");
  }

  // Thread-local capture: other threads may call what a capture forbids, such as cudaMalloc. If
  // `work` throws, the capture must end all the same, or the stream would stay unusable.
  std::unique_ptr<Recording> record_work(const std::function<void()>& work) override {
    check_cuda(cudaStreamBeginCapture(stream(), cudaStreamCaptureModeThreadLocal),
               "cudaStreamBeginCapture");
    cudaGraph_t graph = nullptr;
    try {
      work();
    } catch (...) {
      if (cudaStreamEndCapture(stream(), &graph) == cudaSuccess) cudaGraphDestroy(graph);
      cudaGetLastError();  // of the broken capture; the exception says more
      throw;
    }
    check_cuda(cudaStreamEndCapture(stream(), &graph), "cudaStreamEndCapture");
    return std::make_unique<CudaRecording>(graph);
  }
  void replay(const Recording& recording) override {
    check_cuda(cudaGraphLaunch(static_cast<const CudaRecording&>(recording).get(), stream()),
               "cudaGraphLaunch");
  }

 private:
  cudaStream_t stream() const { return static_cast<cudaStream_t>(native()); }
  static cudaEvent_t of(const Event& event) { return static_cast<const CudaEvent&>(event).get(); }
};

// By CUDA's numbers.
bool can_access(int from, int to) {
  int can = 0;
  return cudaDeviceCanAccessPeer(&can, from, to) == cudaSuccess && can;
}

// Enables access in one direction. Another run of this process may have done so already.
void enable_access(DeviceId from, DeviceId to) {
  if (!can_access(cuda_ordinal(from.index), cuda_ordinal(to.index))) {
    fail(Category::device,
         "{} cannot read the memory of {}: neither NVLink nor PCIe peer access connects them; set "
         "cuda.peer: auto, which uses NCCL there",
         to_string(from), to_string(to));
  }
  CurrentCudaDevice current(from.index);
  cudaError_t code = cudaDeviceEnablePeerAccess(cuda_ordinal(to.index), 0);
  if (code == cudaErrorPeerAccessAlreadyEnabled) {
    cudaGetLastError();
  } else {
    check_cuda(code, "cudaDeviceEnablePeerAccess");
  }
}

}  // namespace

std::unique_ptr<Stream> make_cuda_stream(int index, StreamPriority priority) {
  return std::make_unique<CudaStream>(index, priority);
}

PeerPairs find_peers(const std::vector<CudaDeviceInfo>& gpus) {
  PeerPairs pairs;
  if (peer_access_disabled()) return pairs;
  for (size_t a = 0; a < gpus.size(); ++a) {
    for (size_t b = a + 1; b < gpus.size(); ++b) {
      int first = gpus[a].ordinal, second = gpus[b].ordinal;
      if (can_access(first, second) && can_access(second, first))
        pairs.emplace_back(std::minmax(gpus[a].index, gpus[b].index));
    }
  }
  cudaGetLastError();  // clears the error of a query that failed: that pair has no access
  return pairs;
}

void make_cuda_current(int index) {
  check_cuda(cudaSetDevice(cuda_ordinal(index)), "cudaSetDevice");
}

void connect_cuda_devices(std::span<const DeviceId> devices) {
  for (DeviceId from : devices) {
    for (DeviceId to : devices) {
      bool both = from.kind == DeviceKind::cuda && to.kind == DeviceKind::cuda;
      if (both && from.index != to.index) enable_access(from, to);
    }
  }
}

}  // namespace spire
