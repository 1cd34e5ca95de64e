// A graph compiled for one lane of a device: kernels prepared once, every tensor's place known,
// then run many times. A run allocates nothing; on a GPU it only puts its work on the stream.
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
  bool step = true;  // a training step runs it (see PackedWeights::add)
  // Gradients that go to the gradient buffer; empty for evaluation.
  std::vector<ParameterGradient> gradients = {};
  CudaLibraries* cuda = nullptr;  // of the device, if it is a GPU; outlives the plan
  // Where in the gradient buffer a listener wants to hear that all before is ready, in order;
  // empty: at every parameter. A GPU's work is recorded in pieces between these.
  std::vector<int64_t> ready_offsets = {};
};

// The memory of one run, the device's: the arena at workspace_alignment, else at tensor_alignment.
struct Bindings {
  const float* weights = nullptr;     // plain, ParameterLayout::total_floats()
  const std::byte* packed = nullptr;  // PackedWeights::data()
  float* gradients = nullptr;         // total_floats(), written with `=`
  std::byte* arena = nullptr;         // Plan::arena_bytes()
  std::vector<const void*> inputs;    // in the order of the graph's inputs
  const StepContext* step = nullptr;
  void* stream = nullptr;  // where a GPU's work goes: Stream::native()
  bool operator==(const Bindings&) const = default;
};

// Hears how far a run is, on the thread that runs. On a GPU "final" holds behind the work that the
// stream has by then.
class PlanListener {
 public:
  virtual ~PlanListener() = default;
  virtual void backward_begins() = 0;
  // The first `floats` of the gradient buffer are final: no kernel of the run touches them again.
  virtual void gradients_ready(int64_t floats) = 0;
};

// What a run stops for: `count` numbers of this tower, whose sum over all towers goes to `sum`.
struct TowerVector {
  const double* mine = nullptr;
  double* sum = nullptr;
  int64_t count = 0;
};

class Plan {
 public:
  // Throws what the kernels' factories throw. `layout` and `forms` are read at construction only.
  Plan(Graph graph, const PlanOptions& options, const ParameterLayout& layout,
       PackedWeights& forms);

  // All of it; sums over towers are those of the only tower.
  void run(const Bindings& bindings, PlanListener* listener = nullptr);

  // In parts: steps [begin, end), with nothing told; what a listener is to hear behind a step; and
  // the end of the next steps, from `begin` on, behind which there is something to tell.
  void run_range(const Bindings& bindings, size_t begin, size_t end);
  void notify(size_t position, PlanListener& listener) const;
  size_t next_word(size_t begin) const;

  // Towers in lockstep: runs from step `from` (0: the beginning) up to the next sum over towers,
  // and returns its position; end() when there is none left. Go on with position + 1.
  size_t run_segment(const Bindings& bindings, size_t from, PlanListener* listener = nullptr);
  size_t end() const { return steps_.size(); }
  TowerVector tower_vector(size_t position, const Bindings& bindings) const;
  const std::vector<int64_t>& tower_sums() const { return tower_sums_; }  // their counts, in order

  size_t activation_bytes() const { return activation_bytes_; }
  size_t workspace_bytes() const { return workspace_bytes_; }
  size_t arena_bytes() const { return activation_bytes_ + workspace_bytes_; }
  int kernel_count() const { return static_cast<int>(steps_.size()); }

  // The graph output `name` after a run with this arena.
  const void* output(const std::string& name, const std::byte* arena) const;

 private:
  struct Step {
    std::unique_ptr<Kernel> kernel;
    std::vector<Place> inputs, outputs;
    std::vector<const void*> input_pointers;
    std::vector<void*> output_pointers;
    int64_t gradients_ready = 0;  // floats, where the step completes some
    int64_t tower_sum = 0;        // numbers that it sums over towers; 0: none
  };
  friend class PlanBuilder;

  void run_step(Step& step, const Bindings& bindings);
  static std::byte* resolve(Place place, const Bindings& bindings);  // places that ops write
  static const std::byte* resolve_input(Place place, const Bindings& bindings);

  std::vector<Step> steps_;
  std::vector<std::pair<std::string, Place>> outputs_;
  std::vector<int64_t> tower_sums_;
  size_t backward_begin_ = 0;  // first step behind the loss
  size_t activation_bytes_ = 0, workspace_bytes_ = 0;
};

}  // namespace spire::inline graph
