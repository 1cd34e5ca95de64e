#include "tools/prompt.h"

#include <unistd.h>

#include <spire/error.h>

#include "engine/base/read_file.h"

namespace spire::tool {

namespace {

constexpr size_t max_bytes = 1 << 20;

}  // namespace

std::string read_prompt(const PredictArguments& arguments) {
  if (arguments.prompt) return *arguments.prompt;
  if (!arguments.prompt_file) return "\n";
  std::string text;
  try {
    text = *arguments.prompt_file == "-"
               ? read_stream(STDIN_FILENO, "-", Category::data, max_bytes)
               : read_stream(*arguments.prompt_file, Category::data, max_bytes);
  } catch (const Error& error) {
    fail(Category::data, "--prompt-file {}", error.what());
  }
  if (text.ends_with('\n')) text.pop_back();
  if (text.ends_with('\r')) text.pop_back();
  return text;
}

}  // namespace spire::tool
