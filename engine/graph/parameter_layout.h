// Layout of the flat fp32 buffers: weights, gradients and every optimizer slot share it. Parameters
// are in the order in which backward completes their gradients, so that a prefix of the gradient
// buffer is final while backward continues. Running statistics follow: their values in the weights
// buffer, the contributions of the step in the gradient buffer.
#pragma once
#include <string>
#include <vector>

#include "engine/graph/graph.h"

namespace spire::inline graph {

struct ParameterEntry {
  std::string name;
  Shape shape;
  int64_t offset = 0;     // in floats, a multiple of 16
  bool trained = true;    // false: a running statistic
  float momentum = 0.0f;  // of a running statistic
  Initializer initialize;
  int64_t elements() const { return shape.elements(); }
};

class ParameterLayout {
 public:
  ParameterLayout() = default;
  ParameterLayout(const Graph& graph, const std::vector<ParameterGradient>& gradients);

  const std::vector<ParameterEntry>& entries() const { return entries_; }
  const ParameterEntry& find(const std::string& name) const;  // throws Error(unexpected)
  int64_t trained_floats() const { return trained_floats_; }  // of parameters and padding
  int64_t total_floats() const { return total_floats_; }      // parameters and statistics
  int64_t parameter_count() const;  // elements, without statistics and padding

  // Fills `weights` (total_floats()) by the initializers; random numbers are keyed by (seed, name).
  void initialize(uint64_t seed, float* weights) const;

  // Returns the parameter hash of a run: over all entries in name order, so the layout does not
  // matter.
  uint64_t hash(const float* weights) const;

 private:
  void append(ParameterEntry entry);

  std::vector<ParameterEntry> entries_;
  int64_t trained_floats_ = 0, total_floats_ = 0;
};

}  // namespace spire::inline graph
