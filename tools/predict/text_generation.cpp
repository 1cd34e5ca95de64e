#include "tools/predict/text_generation.h"

#include <nlohmann/json.hpp>

#include <spire/error.h>

#include "engine/base/message_words.h"
#include "engine/inference/text_stream.h"

namespace spire::tool {
namespace {

std::unique_ptr<Vocabulary> vocabulary_of(const SampleSpec& spec) {
  if (spec.vocabulary.empty())
    fail(Category::data,
         "the model was trained on tokens without a vocabulary, so it cannot make text; train it "
         "with data.tokens.vocabulary");
  return make_vocabulary(spec.vocabulary);
}

}  // namespace

TextGeneration::TextGeneration(Predictor& predictor, const Arguments& arguments, uint64_t seed,
                               const StopSignals& signals)
    : vocabulary_(vocabulary_of(predictor.spec())),
      pass_(predictor.token_pass()),
      options_{{.temperature = arguments.predict.temperature,
                .top_k = arguments.predict.top_k,
                .top_p = arguments.predict.top_p},
               arguments.predict.tokens,
               seed},
      stop_words_(arguments.predict.stop),
      skip_unknown_(arguments.predict.unknown == "skip"),
      silent_(arguments.log_level == "error") {
  TextStream check(stop_words_);
  // Every token checks the stop flag, as a long text takes minutes.
  pass_.logits = [&signals, logits = pass_.logits](std::span<const int32_t> seen) {
    if (signals.flag()->load()) fail(Category::interrupted, "the text was stopped by a signal");
    return logits(seen);
  };
}

std::vector<int32_t> TextGeneration::encode(const std::string& prompt) const {
  std::vector<int32_t> ids;
  try {
    ids = vocabulary_->encode(prompt);
  } catch (const Error& error) {
    if (error.category() != Category::data) throw;
    if (!skip_unknown_)
      fail(Category::data, "the prompt: {}; leave it out, or add --unknown skip", error.what());
    int64_t unknown = 0;
    ids = vocabulary_->encode(vocabulary_->known_part(prompt, unknown));
    if (!silent_)
      print_log("warning: {} of the prompt left out, as the vocabulary lacks them\n",
                counted(unknown, "character"));
  }
  if (!silent_ && std::ssize(ids) > pass_.context)
    print_log("warning: the prompt has {} tokens; the model reads the newest {}, its context\n",
              ids.size(), pass_.context);
  return ids;
}

TextGeneration::Text TextGeneration::continue_text(const std::string& prompt,
                                                   const Show& show) const {
  TextStream stream(stop_words_);
  Text made;
  auto give = [&](const std::string& part) {
    made.text += part;
    if (show && !part.empty()) show(part);
  };
  auto take = [&](int32_t token) {
    give(stream.add(vocabulary_->decode({&token, 1})));
    return !stream.stopped();
  };
  made.tokens = std::ssize(generate(pass_, encode(prompt), options_, take));
  give(stream.finish());
  made.stopped = stream.stopped();
  return made;
}

void TextGeneration::write_text(const std::string& prompt, TextOutput& output) const {
  bool begun = false;
  auto show = [&](const std::string& part) {
    if (!begun) output.write(prompt);  // not before: the prompt may be refused
    begun = true;
    output.write(part);
    output.flush();
  };
  continue_text(prompt, show);
  output.write(begun ? "\n" : prompt + "\n");
  output.finish();
}

void TextGeneration::write_texts(const std::vector<std::string>& prompts,
                                 TextOutput& output) const {
  using Json = nlohmann::ordered_json;
  for (const std::string& prompt : prompts) {
    Text made = continue_text(prompt, {});
    Json line = {{"prompt", prompt},
                 {"text", made.text},
                 {"tokens", made.tokens},
                 {"ended", made.stopped ? "stop" : "length"}};
    // A model of bytes may make some that are no UTF-8.
    output.write(line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
    output.flush();
  }
  output.finish();
}

}  // namespace spire::tool
