// Draws the next token of a text from a model's logits.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace spire {

struct SamplingOptions {
  double temperature = 1.0;  // divides the logits; 0: always the likeliest token
  int64_t top_k = 0;         // draws among the k likeliest tokens; 0: among all
  // Draws among the fewest likeliest of these whose probabilities reach this share of their sum
  // (Holtzman et al., "The Curious Case of Neural Text Degeneration", 2020); in (0, 1].
  double top_p = 1.0;
};

// Allocates when it is made, and nothing for a draw.
class TokenSampler {
 public:
  // Throws Error(config) for options out of range.
  TokenSampler(int64_t vocabulary, const SamplingOptions& options);

  // Draws a token with probability ~ e^(logit / temperature). uniform: a random number in [0, 1).
  // Of equal logits the lower id comes first, so the draw does not depend on the sort.
  int32_t draw(std::span<const float> logits, double uniform);

 private:
  SamplingOptions options_;
  std::vector<int32_t> ids_;
  std::vector<double> sums_;  // of the likeliest tokens' e^(..), from the first on
};

}  // namespace spire
