// Where each parameter lies in the flat buffers: weights, gradients and every optimizer slot share
// this table. Order is that in which backward completes the gradients, so that a prefix of the
// gradient buffer is ready while backward goes on. Running statistics follow behind the parameters:
// in the weights buffer their values, in the gradient buffer the step's contribution.
#pragma once
#include <string>
#include <vector>

#include "engine/graph/autodiff.h"

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
  int64_t trained_floats() const { return trained_floats_; }  // parameters, padding included
  int64_t total_floats() const { return total_floats_; }      // parameters and statistics
  int64_t parameter_count() const;                            // elements of parameters alone

  // Fills `weights` (total_floats()) by each entry's initializer, keyed by (seed, name).
  void initialize(uint64_t seed, float* weights) const;

  // Hash over all entries in name order, plain layout: the parameter hash of a run.
  uint64_t hash(const float* weights) const;

 private:
  void append(ParameterEntry entry);

  std::vector<ParameterEntry> entries_;
  int64_t trained_floats_ = 0, total_floats_ = 0;
};

}  // namespace spire::inline graph
