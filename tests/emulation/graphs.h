// Capture: work that is put on streams is kept, with what it follows, and a graph replays it.
#pragma once
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "cuda_runtime_api.h"

namespace spire::emulation {

// A piece of work. Says whether it is through; if not it is called again, after others' pieces.
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

  // Whether the calling thread must not wait, allocate and the like.
  bool forbids() const;
  // Ends a call, and spoils the capture.
  [[noreturn]] void refuse(cudaError_t code);
};

// Where in a capture a stream or an event is; in none if it is not captured.
struct Branch {
  std::shared_ptr<Capture> capture;
  std::vector<size_t> tails;  // the nodes that the next one follows

  void add(Work work);
  // What comes next on this branch follows that of the other, too.
  void join(const Branch& other);
};

}  // namespace spire::emulation
