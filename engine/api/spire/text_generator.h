// Text after a prompt, by a trained language model.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <spire/checkpoint.h>
#include <spire/export.h>
#include <spire/run_config.h>

namespace spire {

struct TextOptions {
  std::string device = "auto";  // one word of the config's `devices`
  int64_t tokens = 256;         // number to generate
  double temperature = 0.8;     // divides the logits; 0: always the likeliest token
  int64_t top_k = 0;            // draws among the k likeliest tokens; 0: among all
  // Draws among the fewest likeliest of these whose probabilities reach this share of their sum
  // (Holtzman et al., "The Curious Case of Neural Text Degeneration", 2020); in (0, 1].
  double top_p = 1;
  uint64_t seed = 0;                   // the random number at position i is that of (seed, i)
  std::vector<std::string> stop = {};  // words at the first of which a text ends
  int64_t texts = 1;                   // written at once, for which memory is planned
  // As those of TrainedModelOptions.
  const RunConfig* settings = nullptr;
  std::function<void(std::string_view line)> say = {};
};

struct GeneratedText {
  std::string text;  // without the prompt
  int64_t tokens = 0;
  // By a stop word, which is not in the text, or by the end of a document.
  bool stopped = false;
};

// Callbacks for several texts, on the thread that calls; each may throw, which ends the call.
// prompt: the index of the text's prompt.
struct TextReport {
  // A part of a text, not empty, as soon as it is certain; parts end between characters.
  std::function<void(size_t prompt, const std::string& part)> part = {};
  // A text has ended. Texts end in any order.
  std::function<void(size_t prompt, const GeneratedText& text)> end = {};
};

// A text depends on prompt, options and model alone, not on other texts (but for the rounding of
// logits, which may depend on TextOptions::texts). One thread at a time calls the methods of an
// object.
class SPIRE_API TextGenerator {
 public:
  // Throws as TrainedModel; Error(data) for a model without a vocabulary, Error(config) for an
  // empty stop word and for `texts` or `tokens` below 1.
  TextGenerator(const Checkpoint& checkpoint, const TextOptions& options);
  ~TextGenerator();
  TextGenerator(TextGenerator&&) noexcept;
  TextGenerator& operator=(TextGenerator&&) noexcept;

  int64_t context() const;  // most tokens that the model reads at once; it reads the newest

  // Returns the tokens of a prompt. For a model of packed documents they begin with the separator
  // that begins a document, so that the text may be empty. Throws Error(data), naming the place,
  // for a character that the vocabulary lacks.
  std::vector<int32_t> encode(std::string_view text) const;
  // Returns the text without such characters, and bytes that are no UTF-8 where the vocabulary has
  // none of them; adds their number to `left_out`.
  std::string known_part(std::string_view text, int64_t& left_out) const;

  // show: called with each part of the text as soon as it is certain; parts end between characters;
  // may be empty. stop: once *stop is true, the next token ends the call with Error(interrupted);
  // null: nothing does. Throws Error(config) for an empty prompt and options out of range,
  // Error(data) for tokens that the vocabulary lacks.
  GeneratedText generate(std::span<const int32_t> prompt,
                         const std::function<void(const std::string& part)>& show = {},
                         const std::atomic<bool>* stop = nullptr);
  // The same for several prompts, as many together as TextOptions::texts says: a text that has
  // ended gives its place to the next prompt. Returns a text for each prompt. Throws as the other,
  // before anything is computed.
  std::vector<GeneratedText> generate(std::span<const std::vector<int32_t>> prompts,
                                      const TextReport& report = {},
                                      const std::atomic<bool>* stop = nullptr);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace spire
