// Runs a plan on a GPU as recordings of its work: each set of bindings is recorded once, in pieces
// that end where the listener is told something, and replayed from then on. What changes from step
// to step is read from device memory, so a replay is what a run would be. On a CPU it just runs.
#pragma once
#include <memory>
#include <vector>

#include "engine/device/stream.h"
#include "engine/graph/plan.h"

namespace spire::inline graph {

class CudaGraphCache {
 public:
  // Both outlive this.
  CudaGraphCache(Plan& plan, Stream& stream) : plan_(plan), stream_(stream) {}

  // As Plan::run. The first run with new bindings is a plain one, in which libraries load what they
  // need; the second records. Later ones allocate nothing.
  void run(const Bindings& bindings, PlanListener* listener = nullptr);

 private:
  struct Piece {
    std::unique_ptr<Recording> work;
    size_t end = 0;  // the plan's step behind it
  };
  struct Known {
    Bindings bindings;
    std::vector<Piece> pieces;  // none: not recorded yet
  };
  void record(Known& known, bool tells);

  Plan& plan_;
  Stream& stream_;
  std::vector<Known> known_;  // few: buffers of gradients x slots of inputs
};

}  // namespace spire::inline graph
