// The update of those weights that a device owns: all of them (the parameter device; each device of
// `mirrored`), or its slices (`sharded`). The optimizer state lives here, of these weights alone.
#pragma once
#include <memory>
#include <vector>

#include <spire/collective/buckets.h>
#include <spire/device/buffer.h>
#include <spire/graph/parameter_layout.h>
#include <spire/optim/ema.h>
#include <spire/optim/optimizer.h>
#include <spire/train/tensor_norms.h>
#include <spire/train/weight_spans.h>

namespace spire {

class ParameterUpdate {
 public:
  struct Options {
    OptimizerConfig optimizer;
    EmaConfig ema;
    std::vector<FloatRange> owned;  // of the flat buffer, running statistics included
    float* weights = nullptr;       // whole buffer, written in the owned ranges
    const float* sums = nullptr;    // whole buffer of reduced gradients
    int parts = 1;                  // lanes that share the work
    std::vector<WeightSpan> spans;
    TensorNorms* norms = nullptr;  // where layer-wise optimizers measure; outlives this
  };
  ParameterUpdate(const Options& options, const ParameterLayout& layout);

  // Part `part` of what a layer-wise optimizer needs to know of the owned weights: the norms get
  // it. All of a tensor is measured before any of it is updated, with the same step.
  void measure(int part, const UpdateStep& step);
  // Part `part` of the update. Both allocate nothing.
  void update(int part, const UpdateStep& step);

  // Where weights are averaged: the average begins anew with them; and part `part` of an exchange
  // of both, which a second one takes back to the bit.
  void begin_average();
  void swap_average(int part);

  // Slots are the optimizer's, then "ema" where weights are averaged.
  // One slot's state between here and a flat buffer of trained_floats(): owned ranges only.
  void copy_state_out(size_t slot, float* flat) const;
  void copy_state_in(size_t slot, const float* flat);
  size_t state_bytes() const;

 private:
  struct Piece {  // of weights: what of a chunk is owned, and of one span
    int64_t begin, count;
    int64_t state;  // where its optimizer state begins in the slots
    float decay;
    size_t span, cell;  // cell: unused unless the span adapts
    bool adapts;
  };
  struct Statistic {  // a piece of a running statistic
    int64_t begin, count;
    float momentum;
  };
  void add_pieces(FloatRange range);
  void add_statistics(const ParameterLayout& layout, FloatRange range);
  int64_t state_floats() const;
  UpdateSlice slice_of(int part, const Piece& piece);
  float trust_ratio(const Piece& piece) const;
  void update_statistic(const Statistic& statistic);

  Options options_;
  std::unique_ptr<Optimizer> optimizer_;
  Ema ema_;
  std::vector<Piece> pieces_;
  std::vector<Statistic> statistics_;
  std::vector<Buffer> slots_;
  std::vector<std::vector<float*>> slot_pointers_;  // one list a part
};

}  // namespace spire
