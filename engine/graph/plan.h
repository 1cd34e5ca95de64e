// A graph compiled for one lane of a device: kernels are prepared and tensors placed once, then it
// runs many times. A run allocates nothing; on a GPU it only enqueues work on the stream.
#pragma once
#include <string>
#include <vector>

#include "engine/graph/buffer_assignment.h"
#include "engine/graph/packed_weights.h"
#include "engine/graph/parameter_layout.h"
#include "kernels/kernel.h"

namespace spire::inline graph {

struct PlanOptions {
  DeviceId device;
  int threads = 1;
  bool step = true;  // training steps run it (see PackedWeights::add)
  // Gradients to write to the gradient buffer; empty for evaluation.
  std::vector<ParameterGradient> gradients = {};
  CudaLibraries* cuda = nullptr;  // null on a CPU; outlives the plan
  // Ascending offsets in the gradient buffer, such as ends of buckets: listeners are notified when
  // all floats before one are final. Empty: after every parameter. CUDA graphs are recorded in
  // segments between notifications, so fewer are faster.
  std::vector<int64_t> ready_offsets = {};
};

// The device memory of one run. The arena is aligned to workspace_alignment, the others to
// tensor_alignment.
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

// Receives the progress of a run, on the thread that runs it. On a GPU it refers to the work
// enqueued so far: "final" holds once the stream has done it.
class PlanListener {
 public:
  virtual ~PlanListener() = default;
  virtual void backward_begins() = 0;
  // The first `floats` of the gradient buffer are final: no kernel of the run touches them again.
  virtual void gradients_ready(int64_t floats) = 0;
};

// A sum over towers in the middle of a run: `count` numbers of this tower; the sum goes to `sum`.
struct TowerVector {
  const double* mine = nullptr;
  double* sum = nullptr;
  int64_t count = 0;
};

class Plan {
 public:
  // Throws what kernels throw when they are made. Uses `layout` and `packed` during construction
  // only.
  Plan(Graph graph, const PlanOptions& options, const ParameterLayout& layout,
       PackedWeights& packed);

  // Runs all steps, as the only tower: a sum over towers is the tower's own.
  void run(const Bindings& bindings, PlanListener* listener = nullptr);

  // Runs in parts, for CudaGraphCache. Runs steps [begin, end) without notifications.
  void run_range(const Bindings& bindings, size_t begin, size_t end);
  // Notifies the listener of what is final after the step at `position`.
  void notify(size_t position, PlanListener& listener) const;
  // Returns the position after the first step from `begin` on that has a notification; else end().
  size_t next_notification(size_t begin) const;

  // Runs one of several towers: steps from `from` on, up to the next sum over towers. Returns the
  // sum's position, or end(). The caller adds up tower_vector() of all towers and continues with
  // position + 1.
  size_t run_segment(const Bindings& bindings, size_t from, PlanListener* listener = nullptr);
  size_t end() const { return steps_.size(); }
  TowerVector tower_vector(size_t position, const Bindings& bindings) const;
  const std::vector<int64_t>& tower_sums() const { return tower_sums_; }  // counts, in order

  size_t activation_bytes() const { return activation_bytes_; }
  size_t workspace_bytes() const { return workspace_bytes_; }
  size_t arena_bytes() const { return activation_bytes_ + workspace_bytes_; }
  int kernel_count() const { return static_cast<int>(steps_.size()); }

  // Returns the graph output `name` after a run with this arena.
  const void* output(const std::string& name, const std::byte* arena) const;

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

}  // namespace spire::inline graph
