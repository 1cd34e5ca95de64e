// The update on a CPU, chunk by chunk (TreeSum::chunk floats of the flat buffer), so that a chunk's
// numbers stay in the cache. The arithmetic is that of optimizer.h.
#pragma once
#include <array>
#include <limits>
#include <memory>
#include <vector>

#include "engine/update/optimizer.h"
#include "engine/update/parameter_update.h"
#include "engine/update/update_pieces.h"

namespace spire {

// Threads may work on different chunks at the same time, each with a ChunkStep of its own.
class CpuUpdate : public ParameterUpdate {
 public:
  // Throws Error(out_of_memory). The layout outlives this.
  CpuUpdate(const Options& options, const ParameterLayout& layout);

  struct ChunkStep {  // what a step's updates of all chunks have in common
    OptimizerFormula formula;
    EmaFormula average;
    float gradient_factor;  // GradientScale::factor(): negative for a step that is skipped
    float lr;
    int64_t number;  // of the optimizer's step
    // The last span and its trust ratio, since neighbouring pieces are often of one span.
    size_t span = std::numeric_limits<size_t>::max();
    float trust = 1.0f;
  };
  // REQUIRES: the squares are complete, if the optimizer clips gradients or there is a loss scale.
  ChunkStep chunk_step(const Step& step) const;
  // Both work on the owned weights (and statistics) in the chunk. sums: of gradients, from that of
  // the chunk's first float on. measure() is for layer-wise optimizers: a tensor's norms must be
  // complete before any part of it is updated. A step that is skipped changes nothing.
  void measure(FloatRange chunk, const float* sums, const ChunkStep& step);
  void update(FloatRange chunk, const float* sums, ChunkStep& step);
  void swap_average(FloatRange chunk);  // of weights; a second swap restores every bit

  void set_spans(const std::vector<WeightSpan>& spans) override;
  void begin_average() override;
  void copy_state_out(size_t slot, FloatRange window, float* flat) const override;
  void copy_state_in(size_t slot, FloatRange window, const float* flat) override;
  size_t state_bytes() const override { return slots_.size() * pieces_.slot_bytes(); }

 private:
  static constexpr size_t max_slots = max_own_slots + 1;  // and the average
  using Slots = std::array<float*, max_slots>;

  // sums: from the piece's first float on. slots: memory for the result's pointers.
  UpdateSlice slice_of(const UpdatePiece& piece, const float* sums, Slots& slots) const;
  static SliceFactors factors_of(const UpdatePiece& piece, const ChunkStep& step);
  float trust_of(const UpdatePiece& piece, ChunkStep& step) const;
  void update_own(const UpdatePiece& piece, const UpdateSlice& slice, const ChunkStep& step) const;

  Options options_;
  const ParameterLayout& layout_;
  UpdatePieces pieces_;  // in order of the flat buffer
  std::vector<std::unique_ptr<DeviceMemory>> memory_;
  std::vector<float*> slots_;  // start of each slot
};

}  // namespace spire
