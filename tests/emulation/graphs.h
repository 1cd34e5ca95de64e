// Stream capture: work put on streams is recorded with its order, and a graph replays it.
#pragma once
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "cuda_runtime_api.h"

namespace spire::emulation {

// A piece of work. Returns true when it is done; else it is called again, after work of others.
using Work = std::function<bool()>;

struct Node {
  Work work;
  std::vector<size_t> after;  // nodes
};

struct Capture {
  cudaStream_t origin = nullptr;
  cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
  std::thread::id thread{};
  std::vector<Node> nodes{};
  bool valid = true, ended = false;

  // Returns true if the calling thread must not wait or allocate.
  bool forbids() const;
  // Throws Refused, and invalidates the capture.
  [[noreturn]] void refuse(cudaError_t code);
};

// The position of a stream or event in a capture; without a capture it is not captured.
struct Branch {
  std::shared_ptr<Capture> capture;
  std::vector<size_t> tails;  // the nodes that the next one follows

  void add(Work work);
  // Lets the next node of this branch follow those of the other, too.
  void join(const Branch& other);
};

}  // namespace spire::emulation
