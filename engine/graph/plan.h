// Plan: a graph compiled for one lane (a thread that runs towers on its device, lane_team.h), as a
// list of kernels with memory offsets; and its replay as CUDA graphs. A run of a plan allocates
// nothing; on a GPU it only enqueues work. A position is an index into the list of kernels.
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
#include "engine/graph/plan_observer.h"
#include "kernels/kernel.h"

namespace spire {

struct PlanOptions {
  DeviceId device;
  int threads = 1;   // size of the lane's OpenMP team
  bool step = true;  // true: a plan of training steps; false: of evaluation (PackedWeights::add)
  std::vector<ParameterGradient> gradients = {};  // empty for an evaluation
  // True: the arena begins with a gradient buffer, in which activations may lie until backward
  // writes it. Bindings::gradients may be this buffer or, to keep gradients in it, another one.
  bool over_gradients = false;
  CudaLibraries* cuda = nullptr;  // null on a CPU; must outlive the plan
  // Ascending offsets in the gradient buffer, such as the ends of buckets (ranges that are reduced
  // together): the listener is notified each time that all floats before the next of these offsets
  // are final. Empty: after every parameter. Fewer notifications give longer CUDA graphs.
  std::vector<int64_t> ready_offsets = {};
};

// Device memory of a run: the arena aligned to workspace_alignment, all else to tensor_alignment.
struct Bindings {
  const float* weights = nullptr;     // plain fp32 (ParameterLayout::total_floats())
  const std::byte* packed = nullptr;  // PackedWeights::data()
  float* gradients = nullptr;         // (gradient_floats()), written with `=`, not `+=`
  std::byte* arena = nullptr;         // all activations and scratch, Plan::arena_bytes()
  std::vector<const void*> inputs;    // in the order of the graph's inputs
  const StepContext* step = nullptr;  // numbers that change from training step to training step
  void* stream = nullptr;             // Stream::native(); null on a CPU
  bool operator==(const Bindings&) const = default;
};

// Is told of the progress of a run, on the thread that runs the plan. On a GPU it is called when
// work is enqueued; what it is told becomes true when the stream reaches that point.
class PlanListener {
 public:
  virtual ~PlanListener() = default;
  virtual void backward_begins() = 0;
  // The first `floats` of the gradient buffer are final: no later kernel of the run touches them.
  virtual void gradients_ready(int64_t floats) = 0;
};

// One tower's part in a sum over towers, which takes place in the middle of a run (TowerSumOp). A
// tower is one of the shares of a global batch.
struct TowerVector {
  const double* mine = nullptr;  // (count), the tower's addend
  double* sum = nullptr;         // (count), receives the sum of all towers' addends
  int64_t count = 0;
};

class Plan {
 public:
  // Throws what the kernels' makers throw. Does not keep `layout` and `packed`.
  Plan(Graph graph, const PlanOptions& options, const ParameterLayout& layout,
       PackedWeights& packed);

  // Runs all kernels. A sum over towers (TowerSumOp) only copies, which is right for a single
  // tower. observer: sees the inputs, then what each kernel writes; null: costs nothing.
  void run(const Bindings& bindings, PlanListener* listener = nullptr,
           PlanObserver* observer = nullptr);

  void run_range(const Bindings& bindings, size_t begin, size_t end);  // without notifications
  void notify(size_t position, PlanListener& listener) const;  // as run() does after this kernel
  // Returns the position after the next kernel from `begin` on with a notification, or end().
  size_t next_notification(size_t begin) const;

  // Runs one of several towers from position `from` to the next sum over towers; returns the
  // position of that sum, or end(). The caller adds up the tower_vector() of all towers, gives each
  // the sum, and continues at position + 1.
  size_t run_segment(const Bindings& bindings, size_t from, PlanListener* listener = nullptr,
                     PlanObserver* observer = nullptr);
  size_t end() const { return steps_.size(); }
  TowerVector tower_vector(size_t position, const Bindings& bindings) const;
  const std::vector<int64_t>& tower_sums() const { return tower_sums_; }  // length of each
  size_t forward_sums() const { return forward_sums_; }  // how many of them are in forward

  // The arena without workspace; with `over_gradients` the gradient buffer counts, too.
  size_t activation_bytes() const { return activation_bytes_; }
  size_t workspace_bytes() const { return workspace_bytes_; }
  size_t arena_bytes() const { return activation_bytes_ + workspace_bytes_; }
  int kernel_count() const { return static_cast<int>(steps_.size()); }

  // Returns the address of a graph output in the arena of a run that has ended.
  const void* output(const std::string& name, const std::byte* arena) const;

 private:
  struct Written {  // what an observer is told
    TensorName name;
    TensorSpec spec;
  };
  struct Step {  // a kernel and its operands
    Kernel kernel;
    std::vector<Place> inputs, outputs;
    std::vector<const void*> input_pointers;
    std::vector<void*> output_pointers;
    int64_t gradients_ready = 0;  // floats to notify as final after this kernel; 0: no notification
    int64_t tower_sum = 0;        // count of a sum over towers; 0 for any other kernel
    std::vector<Written> written;  // one per output
    std::string name;              // what an observer is told: TensorName::kernel()
  };
  friend class PlanBuilder;

  void run_step(Step& step, const Bindings& bindings);
  void run_step(Step& step, const Bindings& bindings, PlanObserver* observer);
  void show_inputs(const Bindings& bindings, PlanObserver& observer) const;
  static void show_outputs(const Step& step, PlanObserver& observer);
  static std::byte* resolve(Place place, const Bindings& bindings);  // a tensor that kernels write
  static const std::byte* resolve_input(Place place, const Bindings& bindings);

  std::vector<Step> steps_;
  std::vector<std::pair<std::string, Place>> outputs_;
  std::vector<Written> inputs_;  // the columns of a batch
  std::vector<int64_t> tower_sums_;
  size_t forward_sums_ = 0;
  size_t backward_begin_ = 0;  // position after the kernel that computes the last graph output
  size_t activation_bytes_ = 0, workspace_bytes_ = 0;
};

// Runs a plan as CUDA graphs, recorded once per set of bindings; on a CPU just runs it. Kernels
// read values that change from step to step (StepContext) from device memory. Plan and stream must
// outlive it.
class CudaGraphCache {
 public:
  CudaGraphCache(Plan& plan, Stream& stream) : plan_(plan), stream_(stream) {}

  // Does what Plan::run does. Of the runs with equal bindings the first is an ordinary run, the
  // second records and replays, and later ones only replay and allocate nothing. REQUIRES: equal
  // bindings always come with a listener, or always without one.
  void run(const Bindings& bindings, PlanListener* listener = nullptr);

 private:
  struct Segment {  // kernels of the plan up to a notification
    std::unique_ptr<Recording> work;
    size_t end = 0;  // position after its last kernel
  };
  struct Entry {
    Bindings bindings;
    std::vector<Segment> segments;  // empty: not recorded yet
  };
  void record(Entry& entry, bool notifies);

  Plan& plan_;
  Stream& stream_;
  std::vector<Entry> entries_;  // few: one per pair of gradient buffer and input slot
};

}  // namespace spire
