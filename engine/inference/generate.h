// Generates text: draws token after token by the logits of a language model, and cuts their text
// into parts that can be shown.
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace spire {

struct SamplingOptions {
  double temperature = 1.0;  // divides the logits; 0: always the likeliest token
  int64_t top_k = 0;         // draws among the k likeliest tokens; 0: among all
  // Nucleus sampling: draws among the fewest of the likeliest of these tokens that together have at
  // least this share of their total probability (Holtzman et al., "The Curious Case of Neural Text
  // Degeneration", 2020); in (0, 1]; 1: among all of them.
  double top_p = 1.0;
};

// Draws the next token of a text from a model's logits. Allocates when it is made, and nothing for
// a draw.
class TokenSampler {
 public:
  // Throws Error(config) for options out of range.
  TokenSampler(int64_t vocabulary, const SamplingOptions& options);

  // Draws a token with probability ~ e^(logit / temperature). uniform: a random number in [0, 1).
  // Of equal logits the lower id comes first, so the draw does not depend on the sort. Throws
  // Error(diverged) if a logit is NaN.
  int32_t draw(std::span<const float> logits, double uniform);

 private:
  SamplingOptions options_;
  std::vector<int32_t> ids_;
  std::vector<double> sums_;  // of the likeliest tokens' e^(..), from the first on
};

struct GenerateOptions : SamplingOptions {
  int64_t tokens = 256;  // number of tokens to generate
  uint64_t seed = 0;     // new token i is drawn by random number i of this seed
};

// A language model that reads several texts at once, each in a place of its own; of each at most
// `context` tokens.
struct TextsPass {
  int64_t texts = 1, context = 0, vocabulary = 0;
  // seen: for each place the newest 1 to `context` tokens of its text; empty: no text. Returns the
  // logits (texts, vocabulary) of the next tokens; the row of a place without a text means nothing.
  std::function<std::span<const float>(std::span<const std::span<const int32_t>> seen)> logits;
  std::function<void(size_t place)> begin = {};  // called before each text; may be empty
};

// A forward pass over a whole window (context) of tokens, which writes logits (context,
// vocabulary): row i is for the token that follows position i. window_pass() makes a TextsPass that
// runs `pass` once for each new token.
using WindowPass = std::function<void(std::span<const int32_t> window, std::span<float> logits)>;
TextsPass window_pass(int64_t context, int64_t vocabulary, WindowPass pass);  // of one text

// Receives each token as soon as it is drawn; returns false to end the text with it.
using TakeToken = std::function<bool(int32_t token)>;

// Returns the tokens that follow `prompt`, without the prompt. The model sees only the newest
// `context` tokens. Throws Error(config) for an empty prompt or options out of range, Error(data)
// for a token out of range, Error(diverged) as TokenSampler::draw().
std::vector<int32_t> generate(const TextsPass& pass, std::span<const int32_t> prompt,
                              const GenerateOptions& options, const TakeToken& take = {});

// Receives each token of the text that follows a prompt, by its index, as soon as it is drawn;
// returns false to end that text with it.
using TakeTextToken = std::function<bool(size_t prompt, int32_t token)>;

// Generates a text for each prompt, pass.texts at a time: a place whose text has ended gets the
// next prompt. Each text is the one that generate() makes of its prompt alone, except for the
// rounding of logits: in every text, new token i is drawn by random number i of the seed. Throws as
// generate(), Error(config) and Error(data) before anything is computed.
std::vector<std::vector<int32_t>> generate_texts(const TextsPass& pass,
                                                 std::span<const std::vector<int32_t>> prompts,
                                                 const GenerateOptions& options,
                                                 const TakeTextToken& take = {});

// Cuts a text that arrives token by token into parts that can be shown at once. A part ends between
// UTF-8 characters (bytes that are no UTF-8 are passed on as they are) and before anything that may
// become a stop word. The text ends before the first stop word; the parts together are that text.
class TextStream {
 public:
  // Throws Error(config) for an empty stop word.
  explicit TextStream(std::vector<std::string> stop_words);

  std::string add(std::string_view bytes);   // returns what can be shown now; "" once stopped()
  std::string finish();                      // returns the rest, when no more bytes will come
  bool stopped() const { return stopped_; }  // whether a stop word has ended the text

 private:
  std::string take(size_t bytes);  // cuts that many off the held text

  std::vector<std::string> stop_words_;
  std::string held_;  // not shown yet
  bool stopped_ = false;
};

}  // namespace spire
