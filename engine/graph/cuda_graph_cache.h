// Runs a plan on a GPU by CUDA graphs, recorded once for each set of bindings and replayed from
// then on. Values that change from step to step are read from device memory, so a replay computes
// what a run would. On a CPU it runs the plan.
#pragma once
#include <memory>
#include <vector>

#include "engine/device/stream.h"
#include "engine/graph/plan.h"

namespace spire::inline graph {

class CudaGraphCache {
 public:
  // Plan and stream must outlive this object.
  CudaGraphCache(Plan& plan, Stream& stream) : plan_(plan), stream_(stream) {}

  // Runs as Plan::run. The first run with new bindings is a plain one, in which libraries load
  // their kernels; the second one records. Later ones allocate nothing.
  void run(const Bindings& bindings, PlanListener* listener = nullptr);

 private:
  // Recorded work up to the plan's next notification.
  struct Segment {
    std::unique_ptr<Recording> work;
    size_t end = 0;  // position of the plan's step after it
  };
  struct Entry {
    Bindings bindings;
    std::vector<Segment> segments;  // empty: not recorded yet
  };
  void record(Entry& entry, bool notifies);

  Plan& plan_;
  Stream& stream_;
  std::vector<Entry> entries_;  // few: gradient buffers x input slots
};

}  // namespace spire::inline graph
