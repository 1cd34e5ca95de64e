// A trained model that answers: a checkpoint's weights on a device of choice, beside whatever else
// runs on the machine. It needs no dataset.
#pragma once
#include <filesystem>
#include <span>

#include <spire/run_config.h>

#include "engine/checkpoint/training_state.h"
#include "engine/data/sample.h"
#include "engine/train/forward_pass.h"
#include "kernels/autotune/tuning.h"
#include "kernels/nvidia/cuda_libraries.h"
#include "models/model.h"

namespace spire::inline inference {

struct PredictorOptions {
  std::string device = "auto";  // as the config's `devices`, one of them
  int64_t batch = 64;           // rows computed at a time
};

class Predictor {
 public:
  // Averaged weights are taken where the run kept them (ema.decay). Throws Error(checkpoint) for a
  // state without a model that this program knows, Error(device).
  // Reads the tensors now.
  Predictor(const StateMetadata& state, const SavedTensors& tensors,
            const PredictorOptions& options);

  const RunConfig& config() const { return config_; }  // that the model was trained with
  const SampleSpec& spec() const { return spec_; }
  Task task() const { return task_; }
  std::string device() const;
  // Of one row: logits (K), values (K), an image (H, W, C), or logits of each position (T, V).
  const Shape& output_shape() const { return output_shape_; }

  // rows: `count` of them, of the spec's first column. Writes fp32 outputs, a row each; a row's
  // output does not depend on its neighbours. Runs on a thread of its own; one call at a time.
  void run(const void* rows, int64_t count, std::span<float> out);

 private:
  void run_batch(const std::byte* rows, int64_t count, float* out);
  void load(const SavedTensors& tensors);

  RunConfig config_;
  SampleSpec spec_;
  Task task_;
  int64_t batch_;
  Shape output_shape_;
  ParameterLayout layout_;
  std::unique_ptr<LaneTeam> team_;
  std::unique_ptr<MemoryPool> memory_;
  std::unique_ptr<Replica> replica_;
  std::unique_ptr<Tuning> tuning_;       // the run's choices; measures nothing
  std::unique_ptr<CudaLibraries> cuda_;  // of the device, if it is a GPU
  std::unique_ptr<ForwardPass> pass_;
  std::vector<std::byte> padded_;  // a batch that is not full
};

}  // namespace spire::inline inference
