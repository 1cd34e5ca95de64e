// Runs a trained model on one device without a dataset: outputs for rows, or text after a prompt.
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <spire/run_config.h>

#include "engine/checkpoint/training_state.h"
#include "engine/data/sample.h"
#include "engine/device/gpu_claims.h"
#include "engine/inference/generate.h"
#include "engine/inference/token_decoder.h"
#include "engine/train/forward_pass.h"
#include "engine/train/placement/placement.h"
#include "kernels/cuda/libraries.h"
#include "kernels/cuda/tuning.h"
#include "models/model.h"

namespace spire {

struct PredictorOptions {
  std::string device = "auto";  // one word of the config's `devices`
  int64_t batch = 64;           // rows per forward pass; with `text`: texts generated at once
  bool text = false;            // for texts_pass() alone: run() may not be called
  // If set, its on_missing, timeouts.devices, memory.limit, precision and cuda replace those of the
  // training run; null: the training run's are used. Read only by the constructor.
  const RunConfig* settings = nullptr;
  // Receives notes on the device: which of several it is, who else uses it, for what it waits, a
  // precision that is not the run's.
  std::function<void(std::string_view line)> say = {};
};

class Predictor {
 public:
  // Reads the weights; the averaged ones if the run kept them (ema.decay). Throws Error(checkpoint)
  // for a model that this program does not know, and Error(device). Uses one device: of several
  // GPUs an idle one, if there is one. It claims the GPU (gpu_claims.h) while it lives. fp16
  // becomes fp32 on a CPU.
  Predictor(const StateMetadata& state, const SavedTensors& tensors,
            const PredictorOptions& options);

  const RunConfig& config() const { return config_; }  // config of the training run
  const SampleSpec& spec() const { return spec_; }
  Task task() const { return task_; }
  std::string device() const;
  // Shape of one output: logits (K), values (K), an image (H, W, C), or logits per position (T, V).
  const Shape& output_shape() const { return output_shape_; }

  // rows: `count` rows of the spec's first column. Writes one fp32 output (output_shape()) per row
  // to `out`; it does not depend on the other rows. Computes on a thread of its own and waits; one
  // call at a time.
  void run(const void* rows, int64_t count, std::span<float> out);

  // For a language model; *this outlives the result. With PredictorOptions::text it keeps keys and
  // values of the tokens it has read where the model's layers allow that (token_decoder.h), for
  // PredictorOptions::batch texts at once, and the logits are those of the whole window but for
  // rounding; else it reads whole windows of one text.
  TextsPass texts_pass();

 private:
  void run_batch(const std::byte* rows, int64_t count, float* out);
  void load(const SavedTensors& tensors);
  Placement place(const PredictorOptions& options);
  void make_pool(const PlacedDevice& device);

  RunConfig config_;
  SampleSpec spec_;
  Task task_;
  int64_t batch_;
  Shape output_shape_;
  ParameterLayout layout_;
  std::unique_ptr<GpuClaims> claims_;
  std::unique_ptr<LaneTeam> team_;
  std::unique_ptr<MemoryPool> memory_;
  std::unique_ptr<Replica> replica_;
  std::unique_ptr<Tuning> tuning_;         // the engines that the run's checkpoint records
  std::unique_ptr<CudaLibraries> cuda_;    // null on a CPU
  std::unique_ptr<TokenDecoder> decoder_;  // in place of pass_, where there is one
  std::unique_ptr<ForwardPass> pass_;
  std::vector<std::byte> padded_;  // (batch) rows: inputs, then zeros
};

}  // namespace spire
