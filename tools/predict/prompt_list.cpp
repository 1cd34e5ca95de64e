#include "tools/predict/prompt_list.h"

#include <nlohmann/json.hpp>

#include <spire/error.h>
#include <spire/files.h>

namespace spire::tool {
namespace {

constexpr size_t max_bytes = 64 << 20;

// place: "FILE:line", for messages.
std::string prompt_of(const std::string& line, const std::string& place) {
  auto object = nlohmann::json::parse(line, nullptr, false);
  if (!object.is_object() || !object.contains("prompt") || !object["prompt"].is_string())
    fail(Category::data, "--prompts {}: expected {{\"prompt\": \"text\"}}, got {}", place,
         line.substr(0, 60));
  std::string prompt = object["prompt"];
  if (prompt.empty())
    fail(Category::data, "--prompts {}: the prompt is empty; give the text to continue", place);
  return prompt;
}

std::string content_of(const std::filesystem::path& path) {
  try {
    return read_text(path, Category::data, max_bytes);
  } catch (const Error& error) {
    fail(Category::data, "--prompts {}", error.what());
  }
}

}  // namespace

std::vector<std::string> read_prompts(const std::filesystem::path& path) {
  std::string text = content_of(path);
  bool objects = path.extension() == ".jsonl";
  std::vector<std::string> prompts;
  int64_t number = 0;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = std::min(text.find('\n', begin), text.size());
    std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    ++number;
    if (line.ends_with('\r')) line.pop_back();
    if (line.empty()) continue;
    prompts.push_back(objects ? prompt_of(line, fmt::format("{}:{}", path.string(), number))
                              : line);
  }
  if (prompts.empty())
    fail(Category::data, "--prompts {}: has no prompts; write one a line", path.string());
  return prompts;
}

}  // namespace spire::tool
