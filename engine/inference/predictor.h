// Runs a trained model on one device without a dataset: outputs for rows, or text after a prompt.
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <spire/run_config.h>

#include "engine/checkpoint/training_state.h"
#include "engine/data/sample.h"
#include "engine/train/forward_pass.h"
#include "kernels/autotune/tuning.h"
#include "kernels/nvidia/libraries.h"
#include "models/model.h"

namespace spire::inline inference {

struct PredictorOptions {
  std::string device = "auto";  // one word of the config's `devices`
  int64_t batch = 64;           // rows per forward pass
};

class Predictor {
 public:
  // Reads the tensors; averaged ones where the run kept them (ema.decay). Throws Error(checkpoint)
  // for a model that this program does not know, Error(device).
  Predictor(const StateMetadata& state, const SavedTensors& tensors,
            const PredictorOptions& options);

  const RunConfig& config() const { return config_; }  // of the training run
  const SampleSpec& spec() const { return spec_; }
  Task task() const { return task_; }
  std::string device() const;
  // Shape of one output: logits (K), values (K), an image (H, W, C), or logits per position (T, V).
  const Shape& output_shape() const { return output_shape_; }

  // Computes `count` rows of the spec's first column; writes one fp32 output for each. An output
  // does not depend on neighbouring rows. Computes on the lane's thread; one call at a time.
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
  std::unique_ptr<Tuning> tuning_;       // the run's recorded choices; measures nothing
  std::unique_ptr<CudaLibraries> cuda_;  // null on a CPU
  std::unique_ptr<ForwardPass> pass_;
  std::vector<std::byte> padded_;  // (batch) rows: inputs, then zeros
};

struct GenerateOptions {
  int64_t tokens = 256;      // to generate
  double temperature = 1.0;  // divides the logits; 0: always the likeliest token
  int64_t top_k = 0;         // draws from the k likeliest tokens; 0: from all
  uint64_t seed = 0;         // position i draws by (seed, i)
};

// A forward pass over `context` tokens, as many as the model was built for. Returns logits
// (context, vocabulary): row i is for the token after position i.
struct TokenPass {
  int64_t context = 0, vocabulary = 0;
  std::function<std::span<const float>(std::span<const int32_t> tokens)> logits;
};

TokenPass predictor_pass(Predictor& predictor);  // `predictor` outlives it

// Returns the tokens that follow `prompt`, without the prompt. The model sees the newest `context`
// tokens only. Throws Error(config) for an empty prompt, Error(data) for a token out of range.
std::vector<int32_t> generate(const TokenPass& pass, std::span<const int32_t> prompt,
                              const GenerateOptions& options);

}  // namespace spire::inline inference
