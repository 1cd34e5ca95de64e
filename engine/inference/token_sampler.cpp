#include "engine/inference/token_sampler.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <spire/error.h>

namespace spire {

TokenSampler::TokenSampler(int64_t vocabulary, const SamplingOptions& options) : options_(options) {
  if (!(options.temperature >= 0) || std::isinf(options.temperature))
    fail(Category::config, "the temperature is {}; use 0 (always the likeliest token) or more",
         options.temperature);
  if (options.top_k < 0)
    fail(Category::config, "top k is {}; use 0 (all tokens) or more", options.top_k);
  if (!(options.top_p > 0 && options.top_p <= 1))
    fail(Category::config, "top p is {}; use a share above 0, at most 1 (all tokens)",
         options.top_p);
  ids_.resize(static_cast<size_t>(vocabulary));
  sums_.reserve(ids_.size());
}

int32_t TokenSampler::draw(std::span<const float> logits, double uniform) {
  if (std::ranges::any_of(logits, [](float x) { return std::isnan(x); }))
    fail(Category::diverged,
         "what the model finds is not finite: its weights are too large, or no numbers");
  auto likeliest = std::max_element(logits.begin(), logits.end());
  if (options_.temperature == 0) return static_cast<int32_t>(likeliest - logits.begin());
  std::iota(ids_.begin(), ids_.end(), 0);
  size_t kept = options_.top_k == 0 ? ids_.size()
                                    : std::min(ids_.size(), static_cast<size_t>(options_.top_k));
  auto logit = [&](int32_t id) { return logits[static_cast<size_t>(id)]; };
  std::partial_sort(
      ids_.begin(), ids_.begin() + static_cast<std::ptrdiff_t>(kept), ids_.end(),
      [&](int32_t a, int32_t b) { return logit(a) != logit(b) ? logit(a) > logit(b) : a < b; });
  // Inverse of the cumulative distribution. The largest logit is subtracted: e^x cannot overflow.
  sums_.clear();
  double sum = 0;
  for (size_t i = 0; i < kept; ++i) {
    sum += std::exp((double{logit(ids_[i])} - double{*likeliest}) / options_.temperature);
    sums_.push_back(sum);
  }
  if (options_.top_p < 1) {
    auto reached = std::lower_bound(sums_.begin(), sums_.end(), options_.top_p * sum);
    kept = std::min(kept, static_cast<size_t>(reached - sums_.begin()) + 1);
    sum = sums_[kept - 1];
  }
  auto end = sums_.begin() + static_cast<std::ptrdiff_t>(kept);
  auto chosen = std::upper_bound(sums_.begin(), end, uniform * sum);
  return ids_[std::min(kept - 1, static_cast<size_t>(chosen - sums_.begin()))];
}

}  // namespace spire
