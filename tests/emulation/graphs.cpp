#include "graphs.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "machine.h"

using namespace spire::emulation;

struct EmulatedGraph {
  std::vector<Node> nodes;
};

struct EmulatedGraphExec {
  std::vector<Node> nodes;
  Point latest;  // the launches of a graph run one after another
};

namespace spire::emulation {

bool Capture::forbids() const {
  if (ended || mode == cudaStreamCaptureModeRelaxed) return false;
  return mode == cudaStreamCaptureModeGlobal || thread == std::this_thread::get_id();
}

void Capture::refuse(cudaError_t code) {
  valid = false;
  throw Refused{code};
}

void Branch::add(Work work) {
  refuse_if(!capture->valid, cudaErrorStreamCaptureInvalidated);
  capture->nodes.push_back({std::move(work), tails});
  tails = {capture->nodes.size() - 1};
}

void Branch::join(const Branch& other) {
  if (!other.capture) capture->refuse(cudaErrorStreamCaptureIsolation);
  refuse_if(other.capture->ended, cudaErrorCapturedEvent);
  if (!capture) capture = other.capture;
  if (capture != other.capture) capture->refuse(cudaErrorStreamCaptureMerge);
  tails.insert(tails.end(), other.tails.begin(), other.tails.end());
}

namespace {

// One launch of a graph: each call runs a node, drawn among those whose predecessors are done.
class Replay {
 public:
  Replay(std::vector<Node> nodes, Draw& draw) : nodes_(std::move(nodes)), done_(nodes_.size()) {
    left_.resize(nodes_.size());
    std::iota(left_.begin(), left_.end(), 0);
    std::shuffle(left_.begin(), left_.end(), draw);
  }

  bool operator()() {
    auto can_run = [&](size_t i) {
      return std::ranges::all_of(nodes_[i].after, [&](size_t before) { return done_[before]; });
    };
    auto next = std::ranges::find_if(left_, can_run);
    if (next == left_.end()) return true;  // the graph is empty
    if (nodes_[*next].work()) {
      done_[*next] = true;
      left_.erase(next);
    }
    return left_.empty();
  }

 private:
  std::vector<Node> nodes_;
  std::vector<bool> done_;
  std::vector<size_t> left_;  // the earlier, the sooner
};

// Returns true if every node is before one of `tails`.
bool all_lead_to(const std::vector<Node>& nodes, std::vector<size_t> tails) {
  std::vector<bool> leads(nodes.size());
  while (!tails.empty()) {
    size_t i = tails.back();
    tails.pop_back();
    if (leads[i]) continue;
    leads[i] = true;
    tails.insert(tails.end(), nodes[i].after.begin(), nodes[i].after.end());
  }
  return std::ranges::all_of(leads, std::identity());
}

}  // namespace
}  // namespace spire::emulation

cudaError_t cudaStreamBeginCapture(cudaStream_t handle, cudaStreamCaptureMode mode) {
  return call([&](Machine& machine) {
    refuse_if(!handle, cudaErrorStreamCaptureUnsupported);
    const Stream& stream = machine.find(handle);
    refuse_if(stream->branch.capture != nullptr, cudaErrorIllegalState);
    auto capture = std::make_shared<Capture>(
        Capture{.origin = handle, .mode = mode, .thread = std::this_thread::get_id()});
    machine.begin(stream, std::move(capture));
  });
}

cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t* graph) {
  *graph = nullptr;
  return call([&](Machine& machine) {
    Branch branch = machine.find(handle)->branch;
    refuse_if(!branch.capture, cudaErrorIllegalState);
    Capture& capture = *branch.capture;
    refuse_if(capture.origin != handle, cudaErrorStreamCaptureUnmatched);
    bool here = capture.thread == std::this_thread::get_id();
    refuse_if(!here && capture.mode != cudaStreamCaptureModeRelaxed,
              cudaErrorStreamCaptureWrongThread);
    machine.end(branch.capture);
    refuse_if(!capture.valid, cudaErrorStreamCaptureInvalidated);
    refuse_if(!all_lead_to(capture.nodes, branch.tails), cudaErrorStreamCaptureUnjoined);
    *graph = new EmulatedGraph{std::move(capture.nodes)};
    ++machine.graphs;
  });
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  return call([&](Machine& machine) {
    const auto& capture = machine.find(stream)->branch.capture;
    *status = !capture         ? cudaStreamCaptureStatusNone
              : capture->valid ? cudaStreamCaptureStatusActive
                               : cudaStreamCaptureStatusInvalidated;
  });
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long) {
  return call([&](Machine& machine) {
    refuse_if(!graph, cudaErrorInvalidValue);
    *exec = new EmulatedGraphExec{graph->nodes, {}};
    ++machine.graphs;
  });
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t handle) {
  return call([&](Machine& machine) {
    refuse_if(!exec, cudaErrorInvalidValue);
    const Stream& stream = machine.find(handle);
    machine.put(stream, Replay(exec->nodes, machine.draw), {exec->latest});
    if (!stream->branch.capture) exec->latest = machine.end_of(stream);
  });
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  return call([&](Machine& machine) {
    refuse_if(!exec, cudaErrorInvalidValue);
    delete exec;
    --machine.graphs;
  });
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  return call([&](Machine& machine) {
    refuse_if(!graph, cudaErrorInvalidValue);
    delete graph;
    --machine.graphs;
  });
}
