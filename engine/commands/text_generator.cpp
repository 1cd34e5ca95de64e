#include <spire/commands/text_generator.h>
#include <spire/error.h>

#include "engine/checkpoint/checkpoint_store.h"
#include "engine/data/text/vocabulary.h"
#include "engine/inference/predictor.h"
#include "engine/inference/text_stream.h"

namespace spire {
namespace {

std::unique_ptr<Vocabulary> vocabulary_of(const SampleSpec& spec) {
  if (spec.vocabulary.empty())
    fail(Category::data,
         "the model was trained on tokens without a vocabulary, so it cannot make text; train it "
         "with data.tokens.vocabulary");
  return make_vocabulary(spec.vocabulary);
}

}  // namespace

struct TextGenerator::Impl {
  Impl(const Checkpoint& checkpoint, const TextOptions& options)
      : predictor(checkpoint.loaded()->state, *checkpoint.loaded()->tensors,
                  {.device = options.device, .batch = 1, .text = true}),
        vocabulary(vocabulary_of(predictor.spec())),
        pass(predictor.token_pass()),
        how{{.temperature = options.temperature, .top_k = options.top_k, .top_p = options.top_p},
            options.tokens,
            options.seed},
        stop_words(options.stop) {
    TextStream check(stop_words);
    // Every token checks the stop flag, as a long text takes minutes.
    pass.logits = [this, logits = pass.logits](std::span<const int32_t> seen) {
      if (stop != nullptr && stop->load())
        fail(Category::interrupted, "the text was stopped by a signal");
      return logits(seen);
    };
  }

  Predictor predictor;
  std::unique_ptr<Vocabulary> vocabulary;
  TokenPass pass;
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
  return impl_->vocabulary->encode(text);
}

std::string TextGenerator::known_part(std::string_view text, int64_t& left_out) const {
  std::string known;
  for (size_t at = 0; at < text.size();) {
    size_t begin = at;
    if (!next_code(text, at)) at = begin + 1;
    std::string_view character = text.substr(begin, at - begin);
    try {
      encode(character);
      known += character;
    } catch (const Error& error) {
      if (error.category() != Category::data) throw;
      ++left_out;
    }
  }
  return known;
}

GeneratedText TextGenerator::generate(std::span<const int32_t> prompt,
                                      const std::function<void(const std::string&)>& show,
                                      const std::atomic<bool>* stop) {
  TextStream stream(impl_->stop_words);
  GeneratedText made;
  auto give = [&](const std::string& part) {
    made.text += part;
    if (show && !part.empty()) show(part);
  };
  auto take = [&](int32_t token) {
    give(stream.add(impl_->vocabulary->decode({&token, 1})));
    return !stream.stopped();
  };
  impl_->stop = stop;
  made.tokens = std::ssize(spire::generate(impl_->pass, prompt, impl_->how, take));
  give(stream.finish());
  made.stopped = stream.stopped();
  return made;
}

}  // namespace spire
