#include "tools/predict/text_generation.h"

#include <nlohmann/json.hpp>

#include <spire/error.h>
#include <spire/text.h>

namespace spire::tool {

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

GeneratedText TextGeneration::continue_text(const std::string& prompt, const Show& show) const {
  return generator_.generate(encode(prompt), show, signals_.flag());
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
    GeneratedText made = continue_text(prompt, {});
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
