// Strategy `parameter_device`: the lanes of one device sum the tree, keep the optimizer state and
// update the master weights, which are that device's replica.
#pragma once
#include <memory>
#include <vector>

#include <spire/collective/tree.h>
#include <spire/optim/optimizer.h>
#include <spire/train/replica.h>

namespace spire {

class ParameterUpdate {
 public:
  // `parts`: lanes that share the work. sum_into: the buffer of the tree's first leaf, which the
  // sum overwrites.
  ParameterUpdate(const OptimizerConfig& config, const ParameterLayout& layout, Replica& master,
                  TreeSum tree, float* sum_into, int parts);

  // Phase 1: sums part `part` of the gradients, in fixed chunks, and their squares; updates at once
  // unless clipping has to wait for the global norm.
  void reduce(int part, const UpdateStep& step);
  // Phase 2, after every part's phase 1: the update where clipping was asked, and the statistics.
  void finish(int part, const UpdateStep& step);

  bool two_phases() const { return clip_norm_ > 0; }
  double gradient_norm() const;  // valid after phase 1 of all parts, until the next one

  const Optimizer& optimizer() const { return *optimizer_; }
  std::vector<Buffer>& slots() { return slots_; }  // trained_floats() each
  const std::vector<Buffer>& slots() const { return slots_; }

 private:
  struct Chunk {
    int64_t begin, count;
  };
  Chunk chunk(int64_t index) const;
  void update(Chunk chunk, const float* gradients, const UpdateStep& step, size_t part);
  void update_statistics();

  const ParameterLayout& layout_;
  Replica& master_;
  TreeSum tree_;
  float* sum_into_;
  int parts_;
  double clip_norm_;
  std::unique_ptr<Optimizer> optimizer_;
  std::vector<Buffer> slots_;
  int64_t chunks_;
  std::vector<double> chunk_squares_;               // fp64 sum of squares, one a chunk
  std::vector<Buffer> scratch_;                     // one a part
  std::vector<std::vector<float*>> slot_pointers_;  // one a part
};

}  // namespace spire
