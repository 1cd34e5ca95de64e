#include "tools/predict/text_generation.h"

#include <nlohmann/json.hpp>

#include "engine/base/fail.h"
#include "engine/base/text.h"

namespace spire {

std::vector<int32_t> TextGeneration::encode(const std::string& prompt) const {
  std::vector<int32_t> ids;
  try {
    ids = generator_.encode(prompt);
  } catch (const Error& error) {
    if (error.category() != Category::data) throw;
    if (!skip_unknown_)
      fail(Category::data, "the prompt: {}; leave it out, or add --unknown skip", error.what());
    int64_t unknown = 0;
    ids = generator_.encode(generator_.known_part(prompt, unknown));
    if (!silent_)
      print_log("warning: {} of the prompt left out, as the vocabulary lacks them\n",
                counted(unknown, "character"));
  }
  if (!silent_ && std::ssize(ids) > generator_.context())
    print_log("warning: the prompt has {} tokens; the model reads the newest {}, its context\n",
              ids.size(), generator_.context());
  return ids;
}

namespace {

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
      : prompts_(prompts), done_(prompts.size()), stream_(stream), output_(output) {}

  void add(size_t prompt, const std::string& part) {
    if (stream_) write_line({{"index", prompt}, {"part", part}}, output_);
  }
  void end(size_t prompt, const GeneratedText& text) {
    Json end = {{"tokens", text.tokens}, {"ended", text.stopped ? "stop" : "length"}};
    Json line = {{"prompt", prompts_[prompt]}, {"text", text.text}};
    if (stream_) line = {{"index", prompt}};
    line.update(end);
    if (stream_) return write_line(line, output_);
    done_[prompt] = line;
    for (; next_ < done_.size() && !done_[next_].is_null(); ++next_)
      write_line(done_[next_], output_);
  }

 private:
  const std::vector<std::string>& prompts_;
  std::vector<Json> done_;  // lines of texts that have ended
  size_t next_ = 0;         // the first that is not written
  bool stream_;
  TextOutput& output_;
};

}  // namespace

void TextGeneration::write_text(const std::string& prompt, TextOutput& output) const {
  bool begun = false;
  auto show = [&](const std::string& part) {
    if (!begun) output.write(prompt);  // not before: the prompt may be refused
    begun = true;
    output.write(part);
    output.flush();
  };
  generator_.generate(encode(prompt), show, signals_.flag());
  output.write(begun ? "\n" : prompt + "\n");
  output.finish();
}

void TextGeneration::write_texts(const std::vector<std::string>& prompts, bool stream,
                                 TextOutput& output) const {
  std::vector<std::vector<int32_t>> ids;
  for (const std::string& prompt : prompts) ids.push_back(encode(prompt));
  TextLines lines(prompts, stream, output);
  TextReport report = {
      .part = [&](size_t prompt, const std::string& part) { lines.add(prompt, part); },
      .end = [&](size_t prompt, const GeneratedText& text) { lines.end(prompt, text); }};
  generator_.generate(ids, report, signals_.flag());
  output.finish();
}

}  // namespace spire
