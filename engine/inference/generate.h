// Text from a language model, token by token.
#pragma once
#include <functional>
#include <span>
#include <vector>

#include "engine/inference/predictor.h"

namespace spire::inline inference {

struct GenerateOptions {
  int64_t tokens = 256;      // how many
  double temperature = 1.0;  // logits are divided by it; 0: always the likeliest token
  int64_t top_k = 0;         // draw from so many likeliest tokens; 0: from all
  uint64_t seed = 0;         // each position draws by (seed, position)
};

// What a model says after each of `context` tokens, as many as it was built for: the logits of the
// token behind position i are at [i * vocabulary, (i + 1) * vocabulary).
struct TokenPass {
  int64_t context = 0, vocabulary = 0;
  std::function<std::span<const float>(std::span<const int32_t> tokens)> logits;
};

// The predictor's, one sample at a time; it outlives the pass.
TokenPass predictor_pass(Predictor& predictor);

// The tokens that follow `prompt`, the prompt not among them. Beyond the model's context it looks
// at the newest tokens only. Throws Error(config) for an empty prompt, Error(data) for a token that
// the model does not know.
std::vector<int32_t> generate(const TokenPass& pass, std::span<const int32_t> prompt,
                              const GenerateOptions& options);

}  // namespace spire::inline inference
