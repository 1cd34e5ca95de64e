#include "engine/inference/generate.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <utility>

#include <spire/random_stream.h>

#include "engine/base/fail.h"

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

// A text that is being written in a place of a pass.
struct OpenText {
  size_t prompt = 0, prompt_size = 0;
  std::vector<int32_t> tokens = {};  // the prompt's, then the new ones; empty: no text

  int64_t made() const { return static_cast<int64_t>(tokens.size() - prompt_size); }
};

}  // namespace

TextsPass window_pass(int64_t context, int64_t vocabulary, WindowPass pass) {
  struct Memory {
    std::vector<int32_t> window;
    std::vector<float> logits;
  };
  auto memory = std::make_shared<Memory>();
  memory->window.resize(static_cast<size_t>(context));
  memory->logits.resize(static_cast<size_t>(context * vocabulary));
  auto logits = [memory, vocabulary,
                 pass = std::move(pass)](std::span<const std::span<const int32_t>> texts) {
    std::span<const int32_t> seen = texts[0];
    std::ranges::fill(memory->window, 0);  // causal attention ignores what follows
    std::ranges::copy(seen, memory->window.begin());
    pass(memory->window, memory->logits);
    auto row = static_cast<size_t>(vocabulary);
    return std::span<const float>(memory->logits).subspan((seen.size() - 1) * row, row);
  };
  return {1, context, vocabulary, logits};
}

std::vector<std::vector<int32_t>> generate_texts(const TextsPass& pass,
                                                 std::span<const std::vector<int32_t>> prompts,
                                                 const GenerateOptions& options,
                                                 const TakeTextToken& take) {
  TokenSampler sampler(pass.vocabulary, options);
  for (const std::vector<int32_t>& prompt : prompts) check_prompt(prompt, pass.vocabulary);
  std::vector<std::vector<int32_t>> results(prompts.size());
  if (options.tokens <= 0) return results;
  RandomStream random(options.seed, Purpose::generate);
  std::vector<OpenText> open(static_cast<size_t>(pass.texts));
  std::vector<std::span<const int32_t>> seen(open.size());
  auto vocabulary = static_cast<size_t>(pass.vocabulary);
  for (size_t next = 0;;) {
    bool any = false;
    for (size_t place = 0; place < open.size(); ++place) {
      OpenText& text = open[place];
      if (text.tokens.empty() && next < prompts.size()) {
        text = {next, prompts[next].size(), prompts[next]};
        if (pass.begin) pass.begin(place);
        ++next;
      }
      seen[place] = std::span<const int32_t>(text.tokens)
                        .last(std::min(text.tokens.size(), static_cast<size_t>(pass.context)));
      any = any || !text.tokens.empty();
    }
    if (!any) return results;
    auto logits = pass.logits(seen);
    for (size_t place = 0; place < open.size(); ++place) {
      OpenText& text = open[place];
      if (text.tokens.empty()) continue;
      double uniform = double{random.uniform(static_cast<uint64_t>(text.made()))};
      text.tokens.push_back(sampler.draw(logits.subspan(place * vocabulary, vocabulary), uniform));
      bool goes_on =
          (!take || take(text.prompt, text.tokens.back())) && text.made() < options.tokens;
      if (goes_on) continue;
      results[text.prompt].assign(
          text.tokens.begin() + static_cast<std::ptrdiff_t>(text.prompt_size), text.tokens.end());
      text.tokens.clear();
    }
  }
}

std::vector<int32_t> generate(const TextsPass& pass, std::span<const int32_t> prompt,
                              const GenerateOptions& options, const TakeToken& take) {
  std::vector<std::vector<int32_t>> prompts = {{prompt.begin(), prompt.end()}};
  auto take_any = [&](size_t, int32_t token) { return !take || take(token); };
  return std::move(generate_texts(pass, prompts, options, take_any)[0]);
}

namespace {

// Returns the length of the longest end of `text` that begins `word`, but is not all of it.
size_t begun(std::string_view text, std::string_view word) {
  for (size_t length = std::min(text.size(), word.size() - 1); length > 0; --length)
    if (text.ends_with(word.substr(0, length))) return length;
  return 0;
}

// Returns the number of bytes of the character at the end of `text` that lacks others (RFC 3629).
size_t unfinished_character(std::string_view text) {
  for (size_t back = 1; back <= std::min<size_t>(3, text.size()); ++back) {
    auto byte = static_cast<unsigned char>(text[text.size() - back]);
    if ((byte & 0xc0) == 0x80) continue;  // a later byte of a character
    size_t needed = byte >= 0xf0 && byte <= 0xf4 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc2 ? 2 : 1;
    return byte <= 0xf4 && needed > back ? back : 0;
  }
  return 0;
}

}  // namespace

TextStream::TextStream(std::vector<std::string> stop_words) : stop_words_(std::move(stop_words)) {
  for (const std::string& word : stop_words_)
    if (word.empty())
      fail(Category::config, "a stop word is empty; give the text at which to end, by --stop TEXT");
}

std::string TextStream::take(size_t bytes) {
  std::string taken = held_.substr(0, bytes);
  held_.erase(0, bytes);
  return taken;
}

std::string TextStream::add(std::string_view bytes) {
  if (stopped_) return "";
  held_ += bytes;
  size_t end = std::string::npos;
  for (const std::string& word : stop_words_) end = std::min(end, held_.find(word));
  if (end != std::string::npos) {
    stopped_ = true;
    std::string last = take(end);
    held_.clear();
    return last;
  }
  size_t kept = unfinished_character(held_);
  for (const std::string& word : stop_words_) kept = std::max(kept, begun(held_, word));
  // What may begin a stop word may follow a character that is not complete.
  std::string_view shown = std::string_view(held_).substr(0, held_.size() - kept);
  return take(shown.size() - unfinished_character(shown));
}

std::string TextStream::finish() {
  return take(held_.size());
}

}  // namespace spire
