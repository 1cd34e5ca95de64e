// The update on a CPU: the pieces of the owned weights, and all arithmetic by the optimizer's
// loops.
#pragma once
#include <array>
#include <memory>
#include <vector>

#include "engine/update/optimizer.h"
#include "engine/update/parameter_update.h"
#include "engine/update/update_pieces.h"

namespace spire {

// Threads may call measure(), update() and swap_average() for different parts, or update_chunk()
// for different chunks, at the same time.
class HostUpdate : public ParameterUpdate {
 public:
  // Throws Error(out_of_memory).
  HostUpdate(const Options& options, const ParameterLayout& layout);

  void measure(int part, const Step& step, Stream& stream) override;
  void update(int part, const Step& step, Stream& stream) override;
  void begin_average() override;
  void swap_average(int part, Stream& stream) override;
  void copy_state_out(size_t slot, FloatRange window, float* flat) const override;
  void copy_state_in(size_t slot, FloatRange window, const float* flat) override;
  size_t state_bytes() const override { return slots_.size() * pieces_.slot_bytes(); }

  struct ChunkStep {  // what the updates of all weights have in common
    OptimizerFormula formula;
    EmaFormula average;
    float gradient_factor;  // GradientScale::factor(): negative for a step that is skipped
  };
  // REQUIRES: the squares are complete, if the optimizer clips gradients; no loss scale.
  ChunkStep chunk_step(const Step& step) const;
  const float* weights() const { return options_.weights; }  // the flat buffer that is updated
  // Updates those of the owned weights and statistics that lie in a chunk of the flat buffer
  // (TreeSum::chunk). sums: of gradients, from the chunk's first float on; Options::sums is not
  // read. REQUIRES: the optimizer is not layer-wise.
  void update_chunk(FloatRange chunk, const float* sums, const ChunkStep& step);

 private:
  static constexpr size_t max_slots = 3;  // two of an optimizer, and the average
  using Slots = std::array<float*, max_slots>;

  // sums: from the piece's first float on. slots: memory for the result's pointers.
  UpdateSlice slice_of(const UpdatePiece& piece, const float* sums, Slots& slots) const;
  static SliceFactors factors_of(const UpdatePiece& piece, const ChunkStep& step);
  void update_piece(const UpdatePiece& piece, const float* sums, const SliceFactors& at,
                    const ChunkStep& step);

  Options options_;
  UpdatePieces pieces_;  // in order of the flat buffer
  std::vector<std::unique_ptr<DeviceMemory>> memory_;
  std::vector<float*> slots_;  // start of each slot
};

}  // namespace spire
