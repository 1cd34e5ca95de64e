#include "engine/inference/generate.h"

#include <algorithm>
#include <memory>
#include <utility>

#include <spire/error.h>
#include <spire/random_stream.h>

namespace spire::inline inference {
namespace {

void check_prompt(std::span<const int32_t> prompt, int64_t vocabulary) {
  if (prompt.empty())
    fail(Category::config,
         "the prompt is empty; give the text to continue by --prompt TEXT or --prompt-file FILE");
  for (int32_t token : prompt)
    if (token < 0 || token >= vocabulary)
      fail(Category::data,
           "token {} of the prompt is not in the vocabulary of the model, which has 0 to {}", token,
           vocabulary - 1);
}

}  // namespace

TokenPass window_pass(int64_t context, int64_t vocabulary, WindowPass pass) {
  struct Memory {
    std::vector<int32_t> window;
    std::vector<float> logits;
  };
  auto memory = std::make_shared<Memory>();
  memory->window.resize(static_cast<size_t>(context));
  memory->logits.resize(static_cast<size_t>(context * vocabulary));
  auto logits = [memory, vocabulary, pass = std::move(pass)](std::span<const int32_t> seen) {
    std::ranges::fill(memory->window, 0);  // causal attention ignores what follows
    std::ranges::copy(seen, memory->window.begin());
    pass(memory->window, memory->logits);
    auto row = static_cast<size_t>(vocabulary);
    return std::span<const float>(memory->logits).subspan((seen.size() - 1) * row, row);
  };
  return {context, vocabulary, logits};
}

std::vector<int32_t> generate(const TokenPass& pass, std::span<const int32_t> prompt,
                              const GenerateOptions& options, const TakeToken& take) {
  TokenSampler sampler(pass.vocabulary, options);
  check_prompt(prompt, pass.vocabulary);
  std::vector<int32_t> all;
  all.reserve(prompt.size() + static_cast<size_t>(options.tokens));
  all.assign(prompt.begin(), prompt.end());
  RandomStream random(options.seed, Purpose::generate);
  if (pass.begin) pass.begin();
  for (int64_t i = 0; i < options.tokens; ++i) {
    auto seen = std::min(all.size(), static_cast<size_t>(pass.context));
    auto logits = pass.logits(std::span(all).last(seen));
    double uniform = double{random.uniform(static_cast<uint64_t>(i))};
    all.push_back(sampler.draw(logits, uniform));
    if (take && !take(all.back())) break;
  }
  return {all.begin() + static_cast<std::ptrdiff_t>(prompt.size()), all.end()};
}

}  // namespace spire::inline inference
