#include "tools/predict/text_generation.h"

#include <nlohmann/json.hpp>

#include <spire/error.h>

#include "engine/base/message_words.h"
#include "engine/data/text/text_tokens.h"
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

// Where documents were packed, the token that begins one, and so ends the one before.
std::optional<int32_t> separator_of(const Vocabulary& vocabulary, const SampleSpec& spec) {
  if (!spec.find("positions")) return {};
  using Words = TokensConfig::Vocabulary;
  auto ids = vocabulary.encode(
      document_separator(vocabulary.name() == "gpt2" ? Words::gpt2 : Words::bytes));
  return ids.size() == 1 ? std::optional(ids[0]) : std::nullopt;
}

}  // namespace

TextGeneration::TextGeneration(Predictor& predictor, const Arguments& arguments, uint64_t seed,
                               const StopSignals& signals)
    : vocabulary_(vocabulary_of(predictor.spec())),
      pass_(predictor.texts_pass()),
      end_(separator_of(*vocabulary_, predictor.spec())),
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
  using Seen = std::span<const std::span<const int32_t>>;
  pass_.logits = [&signals, logits = pass_.logits](Seen seen) {
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
  // A document begins with its separator.
  if (end_ && (ids.empty() || ids[0] != *end_)) ids.insert(ids.begin(), *end_);
  if (!silent_ && std::ssize(ids) > pass_.context)
    print_log("warning: the prompt has {} tokens; the model reads the newest {}, its context\n",
              ids.size(), pass_.context);
  return ids;
}

namespace {

// A text as it is written, token by token.
class GrowingText {
 public:
  GrowingText(const Vocabulary& vocabulary, const std::vector<std::string>& stop_words,
              std::optional<int32_t> end)
      : vocabulary_(vocabulary), stream_(stop_words), end_(end) {}

  struct Part {
    std::string text;  // that can be shown now
    bool ended;
  };
  Part add(int32_t token) {
    ++tokens_;
    if (token == end_) {
      stopped_ = true;
      return {stream_.finish(), true};
    }
    std::string text = stream_.add(vocabulary_.decode({&token, 1}));
    stopped_ = stream_.stopped();
    return {text, stopped_};
  }
  std::string finish() { return stream_.finish(); }
  int64_t tokens() const { return tokens_; }
  const char* end() const { return stopped_ ? "stop" : "length"; }

 private:
  const Vocabulary& vocabulary_;
  TextStream stream_;
  std::optional<int32_t> end_;
  int64_t tokens_ = 0;
  bool stopped_ = false;
};

using Json = nlohmann::ordered_json;

void write_line(const Json& line, TextOutput& output) {
  // A model of bytes may make some that are no UTF-8.
  output.write(line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
  output.flush();
}

// Writes the texts of several prompts, which grow together.
class TextLines {
 public:
  TextLines(const std::vector<std::string>& prompts, bool stream, TextOutput& output)
      : prompts_(prompts),
        texts_(prompts.size()),
        done_(prompts.size()),
        stream_(stream),
        output_(output) {}

  void add(size_t prompt, const std::string& part) {
    if (stream_ && !part.empty()) write_line({{"index", prompt}, {"part", part}}, output_);
    if (!stream_) texts_[prompt] += part;
  }
  void end(size_t prompt, const GrowingText& text) {
    Json end = {{"tokens", text.tokens()}, {"ended", text.end()}};
    Json line = {{"prompt", prompts_[prompt]}, {"text", texts_[prompt]}};
    if (stream_) line = {{"index", prompt}};
    line.update(end);
    if (stream_) return write_line(line, output_);
    done_[prompt] = line;
    for (; next_ < done_.size() && !done_[next_].is_null(); ++next_)
      write_line(done_[next_], output_);
  }

 private:
  const std::vector<std::string>& prompts_;
  std::vector<std::string> texts_;
  std::vector<Json> done_;  // lines of texts that have ended
  size_t next_ = 0;         // the first that is not written
  bool stream_;
  TextOutput& output_;
};

}  // namespace

void TextGeneration::write_text(const std::string& prompt, TextOutput& output) const {
  bool begun = false;
  auto show = [&](const std::string& part) {
    if (part.empty()) return;
    if (!begun) output.write(prompt);  // not before: the prompt may be refused
    begun = true;
    output.write(part);
    output.flush();
  };
  GrowingText text(*vocabulary_, stop_words_, end_);
  auto take = [&](size_t, int32_t token) {
    auto [part, ended] = text.add(token);
    show(part);
    return !ended;
  };
  std::vector<std::vector<int32_t>> ids = {encode(prompt)};
  generate_texts(pass_, ids, options_, take);
  show(text.finish());
  output.write(begun ? "\n" : prompt + "\n");
  output.finish();
}

void TextGeneration::write_texts(const std::vector<std::string>& prompts, bool stream,
                                 TextOutput& output) const {
  std::vector<std::vector<int32_t>> ids;
  std::vector<GrowingText> texts;
  for (const std::string& prompt : prompts) {
    ids.push_back(encode(prompt));
    texts.emplace_back(*vocabulary_, stop_words_, end_);
  }
  TextLines lines(prompts, stream, output);
  auto take = [&](size_t prompt, int32_t token) {
    GrowingText& text = texts[prompt];
    auto [part, ended] = text.add(token);
    lines.add(prompt, part);
    bool last = ended || text.tokens() == options_.tokens;
    if (last) {
      lines.add(prompt, text.finish());
      lines.end(prompt, text);
    }
    return !last;
  };
  generate_texts(pass_, ids, options_, take);
  output.finish();
}

}  // namespace spire::tool
