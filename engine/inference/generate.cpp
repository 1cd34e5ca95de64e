#include "engine/inference/generate.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>

#include <spire/error.h>

#include "engine/base/philox.h"

namespace spire::inline inference {
namespace {

// Draws one of the top_k likeliest tokens with probability ~ e^(logit / temperature). Of equal
// logits the lower id comes first, so the draw does not depend on the sort.
int32_t draw(std::span<const float> logits, const GenerateOptions& options, double uniform) {
  auto likeliest = std::max_element(logits.begin(), logits.end());
  if (options.temperature == 0) return static_cast<int32_t>(likeliest - logits.begin());
  std::vector<int32_t> ids(logits.size());
  std::iota(ids.begin(), ids.end(), 0);
  size_t kept =
      options.top_k == 0 ? ids.size() : std::min(ids.size(), static_cast<size_t>(options.top_k));
  auto logit = [&](int32_t id) { return logits[static_cast<size_t>(id)]; };
  std::partial_sort(
      ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(kept), ids.end(),
      [&](int32_t a, int32_t b) { return logit(a) != logit(b) ? logit(a) > logit(b) : a < b; });
  // Inverse of the cumulative distribution. The largest logit is subtracted: e^x cannot overflow.
  std::vector<double> sums;
  double sum = 0;
  for (size_t i = 0; i < kept; ++i) {
    sum += std::exp((double{logit(ids[i])} - double{*likeliest}) / options.temperature);
    sums.push_back(sum);
  }
  auto chosen = std::upper_bound(sums.begin(), sums.end(), uniform * sum);
  return ids[std::min(kept - 1, static_cast<size_t>(chosen - sums.begin()))];
}

}  // namespace

TokenPass predictor_pass(Predictor& predictor) {
  const Shape& shape = predictor.output_shape();  // (T, V)
  auto logits = std::make_shared<std::vector<float>>(static_cast<size_t>(shape.elements()));
  return {shape[0], shape[1], [&predictor, logits](std::span<const int32_t> tokens) {
            predictor.run(tokens.data(), 1, *logits);
            return std::span<const float>(*logits);
          }};
}

std::vector<int32_t> generate(const TokenPass& pass, std::span<const int32_t> prompt,
                              const GenerateOptions& options) {
  if (prompt.empty())
    fail(Category::config,
         "the prompt is empty; give the text to continue by --prompt TEXT or --prompt-file FILE");
  for (int32_t token : prompt)
    if (token < 0 || token >= pass.vocabulary)
      fail(Category::data,
           "token {} of the prompt is not in the vocabulary of the model, which has 0 to {}", token,
           pass.vocabulary - 1);
  std::vector<int32_t> all(prompt.begin(), prompt.end());
  std::vector<int32_t> window(static_cast<size_t>(pass.context));
  RandomStream random(options.seed, Purpose::generate);
  for (int64_t i = 0; i < options.tokens; ++i) {
    auto seen = std::min<int64_t>(std::ssize(all), pass.context);
    std::fill(window.begin(), window.end(), 0);  // causal attention ignores what follows
    std::copy(all.end() - seen, all.end(), window.begin());
    auto logits = pass.logits(window).subspan(static_cast<size_t>((seen - 1) * pass.vocabulary),
                                              static_cast<size_t>(pass.vocabulary));
    double uniform = double{random.uniform(static_cast<uint64_t>(i))};
    all.push_back(draw(logits, options, uniform));
  }
  return {all.begin() + static_cast<std::ptrdiff_t>(prompt.size()), all.end()};
}

}  // namespace spire::inline inference
