// A graph compiled for one lane of a device: kernels prepared once, every tensor's place known,
// then run many times. A run allocates nothing.
#pragma once
#include <string>
#include <vector>

#include <spire/graph/packed_forms.h>
#include <spire/graph/parameter_layout.h>
#include <spire/kernels/kernel.h>

namespace spire {

struct PlanOptions {
  DeviceId device;
  int threads = 1;
  bool step = true;  // a training step runs it (see PackedForms::add)
  // Gradients that go to the gradient buffer; empty for evaluation.
  std::vector<ParameterGradient> gradients;
};

// The memory of one run. Everything is 64-byte aligned.
struct Bindings {
  const float* weights = nullptr;     // plain, ParameterLayout::total_floats()
  const std::byte* packed = nullptr;  // PackedForms::data()
  float* gradients = nullptr;         // total_floats(), written with `=`
  std::byte* arena = nullptr;         // Plan::arena_bytes()
  std::vector<const void*> inputs;    // in the order of the graph's inputs
};

class Plan {
 public:
  // Throws what the kernels' factories throw. `layout` and `forms` are read at construction only.
  Plan(Graph graph, const PlanOptions& options, const ParameterLayout& layout, PackedForms& forms);

  void run(const Bindings& bindings, const StepContext& step);

  size_t activation_bytes() const { return activation_bytes_; }
  size_t workspace_bytes() const { return workspace_bytes_; }
  size_t arena_bytes() const { return activation_bytes_ + workspace_bytes_; }
  int kernel_count() const { return static_cast<int>(steps_.size()); }

  // The graph output `name` after a run with this arena.
  const void* output(const std::string& name, const std::byte* arena) const;

 private:
  enum class Space : uint8_t { none, arena, weights, packed, gradients, input };
  struct Place {
    Space space = Space::none;
    size_t offset = 0;  // in bytes; for Space::input the index of the input
  };
  struct Step {
    std::unique_ptr<Kernel> kernel;
    std::vector<Place> inputs, outputs;
    std::vector<const void*> input_pointers;
    std::vector<void*> output_pointers;
  };
  friend class PlanBuilder;

  static std::byte* resolve(Place place, const Bindings& bindings);  // places that ops write
  static const std::byte* resolve_input(Place place, const Bindings& bindings);

  std::vector<Step> steps_;
  std::vector<std::pair<std::string, Place>> outputs_;
  size_t activation_bytes_ = 0, workspace_bytes_ = 0;
};

}  // namespace spire
