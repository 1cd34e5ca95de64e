#include <optional>

#include <spire/text_generator.h>

#include "engine/base/fail.h"
#include "engine/checkpoint/checkpoint_store.h"
#include "engine/data/text/text_tokens.h"
#include "engine/data/text/vocabulary.h"
#include "engine/inference/generate.h"
#include "engine/inference/predictor.h"

namespace spire {
namespace {

const TextOptions& checked(const TextOptions& options) {
  if (options.texts < 1) fail(Category::config, "texts: must be at least 1, got {}", options.texts);
  if (options.tokens < 1)
    fail(Category::config, "tokens: must be at least 1, got {}", options.tokens);
  return options;
}

std::unique_ptr<Vocabulary> vocabulary_of(const SampleSpec& spec) {
  if (spec.vocabulary.empty())
    fail(Category::data,
         "the model was trained on tokens without a vocabulary, so it cannot make text; train it "
         "with data.tokens.vocabulary");
  return make_vocabulary(spec.vocabulary);
}

// Where documents were packed, the token that begins one, and so ends the one before.
std::optional<int32_t> separator_of(const Vocabulary& vocabulary, const SampleSpec& spec) {
  if (!spec.find("positions")) return {};
  using Words = TokensConfig::Vocabulary;
  auto ids = vocabulary.encode(
      document_separator(vocabulary.name() == "gpt2" ? Words::gpt2 : Words::bytes));
  return ids.size() == 1 ? std::optional(ids[0]) : std::nullopt;
}

// A text as it is written, token by token.
class GrowingText {
 public:
  GrowingText(const Vocabulary& vocabulary, const std::vector<std::string>& stop_words,
              std::optional<int32_t> end)
      : vocabulary_(vocabulary), stream_(stop_words), end_(end) {}

  // Adds a token, the last one if `last`; returns what can be shown now.
  std::string add(int32_t token, bool last) {
    ++made_.tokens;
    std::string part;
    if (token == end_) {
      made_.stopped = true;
    } else {
      part = stream_.add(vocabulary_.decode({&token, 1}));
      made_.stopped = stream_.stopped();
    }
    ended_ = last || made_.stopped;
    if (ended_) part += stream_.finish();
    made_.text += part;
    return part;
  }
  bool ended() const { return ended_; }
  const GeneratedText& made() const { return made_; }

 private:
  const Vocabulary& vocabulary_;
  TextStream stream_;
  std::optional<int32_t> end_;
  GeneratedText made_;
  bool ended_ = false;
};

}  // namespace

struct TextGenerator::Impl {
  Impl(const Checkpoint& checkpoint, const TextOptions& options)
      : predictor(checkpoint.loaded()->state, *checkpoint.loaded()->tensors,
                  {.device = options.device,
                   .batch = checked(options).texts,
                   .text = true,
                   .settings = options.settings,
                   .say = options.say}),
        vocabulary(vocabulary_of(predictor.spec())),
        pass(predictor.texts_pass()),
        separator(separator_of(*vocabulary, predictor.spec())),
        how{{.temperature = options.temperature, .top_k = options.top_k, .top_p = options.top_p},
            options.tokens,
            options.seed},
        stop_words(options.stop) {
    TextStream check(stop_words);
    // Every token checks the stop flag, as a long text takes minutes.
    using Seen = std::span<const std::span<const int32_t>>;
    pass.logits = [this, logits = pass.logits](Seen seen) {
      if (stop != nullptr && stop->load())
        fail(Category::interrupted, "the text was stopped by a signal");
      return logits(seen);
    };
  }

  Predictor predictor;
  std::unique_ptr<Vocabulary> vocabulary;
  TextsPass pass;
  std::optional<int32_t> separator;  // of packed documents: begins a text, and ends it
  GenerateOptions how;
  std::vector<std::string> stop_words;
  const std::atomic<bool>* stop = nullptr;  // of the present call
};

TextGenerator::TextGenerator(const Checkpoint& checkpoint, const TextOptions& options)
    : impl_(std::make_unique<Impl>(checkpoint, options)) {}

TextGenerator::~TextGenerator() = default;
TextGenerator::TextGenerator(TextGenerator&&) noexcept = default;
TextGenerator& TextGenerator::operator=(TextGenerator&&) noexcept = default;

int64_t TextGenerator::context() const {
  return impl_->pass.context;
}

std::vector<int32_t> TextGenerator::encode(std::string_view text) const {
  std::vector<int32_t> ids = impl_->vocabulary->encode(text);
  const std::optional<int32_t>& separator = impl_->separator;
  if (separator && (ids.empty() || ids[0] != *separator)) ids.insert(ids.begin(), *separator);
  return ids;
}

std::string TextGenerator::known_part(std::string_view text, int64_t& left_out) const {
  return impl_->vocabulary->known_part(text, left_out);
}

GeneratedText TextGenerator::generate(std::span<const int32_t> prompt,
                                      const std::function<void(const std::string&)>& show,
                                      const std::atomic<bool>* stop) {
  std::vector<std::vector<int32_t>> prompts = {{prompt.begin(), prompt.end()}};
  TextReport report;
  if (show) report.part = [&](size_t, const std::string& part) { show(part); };
  return generate(prompts, report, stop)[0];
}

std::vector<GeneratedText> TextGenerator::generate(std::span<const std::vector<int32_t>> prompts,
                                                   const TextReport& report,
                                                   const std::atomic<bool>* stop) {
  std::vector<GrowingText> texts(
      prompts.size(), GrowingText(*impl_->vocabulary, impl_->stop_words, impl_->separator));
  auto take = [&](size_t prompt, int32_t token) {
    GrowingText& text = texts[prompt];
    std::string part = text.add(token, text.made().tokens + 1 == impl_->how.tokens);
    if (report.part && !part.empty()) report.part(prompt, part);
    if (report.end && text.ended()) report.end(prompt, text.made());
    return !text.ended();
  };
  impl_->stop = stop;
  generate_texts(impl_->pass, prompts, impl_->how, take);
  std::vector<GeneratedText> made;
  for (const GrowingText& text : texts) made.push_back(text.made());
  return made;
}

}  // namespace spire
