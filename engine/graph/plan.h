// A graph compiled for one lane of a device, and its replay by CUDA graphs. A run allocates
// nothing; on a GPU it only enqueues work.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/device/stream.h"
#include "engine/graph/buffer_assignment.h"
#include "engine/graph/parameter_layout.h"
#include "kernels/kernel.h"

namespace spire::inline graph {

struct PlanOptions {
  DeviceId device;
  int threads = 1;
  bool step = true;                               // training steps run it (see PackedWeights::add)
  std::vector<ParameterGradient> gradients = {};  // empty: evaluation
  CudaLibraries* cuda = nullptr;                  // null on a CPU; outlives the plan
  // Ascending offsets in the gradient buffer, such as ends of buckets: listeners are notified when
  // all floats before one are final. Empty: after every parameter; fewer give longer CUDA graphs.
  std::vector<int64_t> ready_offsets = {};
};

// Device memory of one run: arena aligned to workspace_alignment, the rest to tensor_alignment.
struct Bindings {
  const float* weights = nullptr;     // plain, ParameterLayout::total_floats()
  const std::byte* packed = nullptr;  // PackedWeights::data()
  float* gradients = nullptr;         // total_floats(), written with `=`
  std::byte* arena = nullptr;         // Plan::arena_bytes()
  std::vector<const void*> inputs;    // in the order of the graph's inputs
  const StepContext* step = nullptr;
  void* stream = nullptr;  // Stream::native() of a GPU
  bool operator==(const Bindings&) const = default;
};

// Receives the progress of a run on its thread. On a GPU "final" means: once the stream is there.
class PlanListener {
 public:
  virtual ~PlanListener() = default;
  virtual void backward_begins() = 0;
  // No kernel of the run touches the first `floats` of the gradient buffer again.
  virtual void gradients_ready(int64_t floats) = 0;
};

// A sum over towers in the middle of a run.
struct TowerVector {
  const double* mine = nullptr;  // (count), of this tower
  double* sum = nullptr;
  int64_t count = 0;
};

class Plan {
 public:
  // Throws as kernels do when they are made. Uses `layout` and `packed` only here.
  Plan(Graph graph, const PlanOptions& options, const ParameterLayout& layout,
       PackedWeights& packed);

  void run(const Bindings& bindings, PlanListener* listener = nullptr);  // as the only tower

  void run_range(const Bindings& bindings, size_t begin, size_t end);  // without notifications
  void notify(size_t position, PlanListener& listener) const;          // after the step there
  // Returns the position after the next step from `begin` on that has a notification; else end().
  size_t next_notification(size_t begin) const;

  // Runs one of several towers from step `from` to the next sum over towers; returns its position,
  // or end(). The caller adds up all tower_vector() and continues at position + 1.
  size_t run_segment(const Bindings& bindings, size_t from, PlanListener* listener = nullptr);
  size_t end() const { return steps_.size(); }
  TowerVector tower_vector(size_t position, const Bindings& bindings) const;
  const std::vector<int64_t>& tower_sums() const { return tower_sums_; }  // counts, in order

  size_t activation_bytes() const { return activation_bytes_; }
  size_t workspace_bytes() const { return workspace_bytes_; }
  size_t arena_bytes() const { return activation_bytes_ + workspace_bytes_; }
  int kernel_count() const { return static_cast<int>(steps_.size()); }

  const void* output(const std::string& name, const std::byte* arena) const;  // after a run

 private:
  struct Step {
    std::unique_ptr<Kernel> kernel;
    std::vector<Place> inputs, outputs;
    std::vector<const void*> input_pointers;
    std::vector<void*> output_pointers;
    int64_t gradients_ready = 0;  // length of the prefix that is final after this step; 0: no news
    int64_t tower_sum = 0;        // count of a sum over towers; 0: an ordinary step
  };
  friend class PlanBuilder;

  void run_step(Step& step, const Bindings& bindings);
  static std::byte* resolve(Place place, const Bindings& bindings);  // of a tensor that ops write
  static const std::byte* resolve_input(Place place, const Bindings& bindings);

  std::vector<Step> steps_;
  std::vector<std::pair<std::string, Place>> outputs_;
  std::vector<int64_t> tower_sums_;
  size_t backward_begin_ = 0;  // position after the step that computes the last graph output
  size_t activation_bytes_ = 0, workspace_bytes_ = 0;
};

// Runs a plan by CUDA graphs, recorded for each set of bindings; on a CPU as it is. Values that
// change from step to step are read from device memory, so a replay computes what a run would.
class CudaGraphCache {
 public:
  CudaGraphCache(Plan& plan, Stream& stream) : plan_(plan), stream_(stream) {}  // outlive this

  // Runs as Plan::run. The third run with the same bindings, and later ones, allocate nothing.
  void run(const Bindings& bindings, PlanListener* listener = nullptr);

 private:
  struct Segment {  // of the plan, up to its next notification
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
