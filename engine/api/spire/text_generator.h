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
  int64_t tokens = 256;         // most tokens to generate for a text
  double temperature = 0.8;     // divides the logits; 0: always the likeliest token
  int64_t top_k = 0;            // draws among the k likeliest tokens; 0: among all
  // Nucleus sampling, after top_k: draws from the smallest set of likeliest tokens whose
  // probabilities sum to at least top_p, in (0, 1], of the total of the top_k tokens (Holtzman et
  // al., "The Curious Case of Neural Text Degeneration", 2020).
  double top_p = 1;
  uint64_t seed = 0;                   // token i of a text is drawn by random number (seed, i)
  std::vector<std::string> stop = {};  // a text ends before the first of these that appears
  int64_t texts = 1;                   // generated together; memory is reserved for so many
  // As in TrainedModelOptions.
  const RunConfig* settings = nullptr;
  std::function<void(std::string_view line)> say = {};
};

struct GeneratedText {
  std::string text;  // without the prompt
  int64_t tokens = 0;
  // true: ended by a stop word, which is not in `text`, or by the end of a document; false: by
  // TextOptions::tokens.
  bool stopped = false;
};

// Callbacks of generate(), on the caller's thread; each may be empty. An exception ends the call.
// prompt: the index of the text's prompt.
struct TextReport {
  // Receives the next part of a text, never empty. What may be the beginning of a stop word, or of
  // a UTF-8 character, is held back until more is known, or the text ends.
  std::function<void(size_t prompt, const std::string& part)> part = {};
  // Gets a text that has ended. Texts end in any order.
  std::function<void(size_t prompt, const GeneratedText& text)> end = {};
};

// A text depends on prompt, options and model alone, not on other texts (except for the rounding of
// logits, which may depend on TextOptions::texts). One thread at a time may use an object.
class SPIRE_API TextGenerator {
 public:
  // Throws as TrainedModel; Error(data) for a model without a vocabulary, Error(config) for an
  // empty stop word and for `texts` or `tokens` below 1.
  TextGenerator(const Checkpoint& checkpoint, const TextOptions& options);
  ~TextGenerator();
  TextGenerator(TextGenerator&&) noexcept;
  TextGenerator& operator=(TextGenerator&&) noexcept;

  int64_t context() const;  // most tokens that the model reads; of a longer text it reads the last

  // Returns the tokens of a prompt. For a model of packed documents they begin with the separator
  // of documents; `text` may then be empty. Throws Error(data), naming the place, for a character
  // that the vocabulary lacks.
  std::vector<int32_t> encode(std::string_view text) const;
  // Returns the text without the characters that the vocabulary lacks, and without invalid UTF-8
  // unless the vocabulary has bytes. Adds the number of removed characters and bytes to `left_out`.
  std::string known_part(std::string_view text, int64_t& left_out) const;

  // Returns the text that follows the prompt. show: as TextReport::part; may be empty. stop: once
  // *stop is true, the next token ends the call with Error(interrupted); null: never. Throws
  // Error(config) for an empty prompt and options out of range, Error(data) for tokens that the
  // vocabulary lacks.
  GeneratedText generate(std::span<const int32_t> prompt,
                         const std::function<void(const std::string& part)>& show = {},
                         const std::atomic<bool>* stop = nullptr);
  // The same for several prompts, TextOptions::texts of them at a time: when a text has ended, the
  // next prompt takes its place. Returns a text for each prompt, in their order. Throws the same
  // errors; those about prompts and options before it computes anything.
  std::vector<GeneratedText> generate(std::span<const std::vector<int32_t>> prompts,
                                      const TextReport& report = {},
                                      const std::atomic<bool>* stop = nullptr);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace spire
