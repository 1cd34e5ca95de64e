// Generates text with a language model, token by token.
#pragma once
#include <functional>
#include <span>
#include <vector>

#include "engine/inference/predictor.h"

namespace spire::inline inference {

struct GenerateOptions {
  int64_t tokens = 256;      // number of tokens to generate
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

// Returns the forward pass of a predictor, which must outlive it.
TokenPass predictor_pass(Predictor& predictor);

// Returns the tokens that follow `prompt`, without the prompt. The model sees the newest `context`
// tokens only. Throws Error(config) for an empty prompt, Error(data) for a token out of range.
std::vector<int32_t> generate(const TokenPass& pass, std::span<const int32_t> prompt,
                              const GenerateOptions& options);

}  // namespace spire::inline inference
