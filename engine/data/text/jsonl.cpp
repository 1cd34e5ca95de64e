#include "engine/data/text/jsonl.h"

#include <algorithm>
#include <vector>

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <spire/error.h>

#include "engine/data/input_file.h"

namespace spire::inline data {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr size_t max_bytes = size_t{1} << 34;

// What the parser says after its own name and number: "[json.exception.parse_error.101] ...".
std::string reason_of(const Json::parse_error& error) {
  std::string text = error.what();
  size_t end = text.find("] ");
  return end == std::string::npos ? text : text.substr(end + 2);
}

Json parse_line(std::string_view line, const std::string& place) {
  Json object;
  try {
    object = Json::parse(line);
  } catch (const Json::parse_error& error) {
    fail(Category::data,
         "{}: is no JSON: {}; write an object a line, such as {{\"text\": \"...\"}}", place,
         reason_of(error));
  }
  if (!object.is_object())
    fail(Category::data,
         "{}: is {}, not an object; write one a line, such as {{\"text\": \"...\"}}", place,
         object.type_name());
  return object;
}

// place: "FILE:line", for messages.
std::string text_of(std::string_view line, const std::string& field, const std::string& place) {
  Json object = parse_line(line, place);
  auto found = object.find(field);
  if (found == object.end()) {
    std::vector<std::string> keys;
    for (const auto& [key, value] : object.items()) keys.push_back(key);
    fail(Category::data, "{}: has no \"{}\", but {}; set data.tokens.field to the key of the text",
         place, field, keys.empty() ? "no keys at all" : fmt::format("{}", fmt::join(keys, ", ")));
  }
  if (!found->is_string())
    fail(Category::data,
         "{}: its \"{}\" is {}, not a text; correct the line, or set data.tokens.field to the key "
         "of "
         "the text",
         place, field, found->type_name());
  return found->get<std::string>();
}

}  // namespace

bool is_jsonl(const fs::path& path) {
  fs::path name = path.extension() == ".gz" ? path.stem() : path.filename();
  return name.extension() == ".jsonl";
}

void for_each_json_text(const fs::path& path, const std::string& field,
                        const std::function<void(const std::string& text)>& use) {
  std::string all = InputFile(path).read_text(max_bytes);
  int64_t number = 0;
  for (size_t begin = 0; begin < all.size();) {
    size_t end = std::min(all.find('\n', begin), all.size());
    std::string_view line(all.data() + begin, end - begin);
    begin = end + 1;
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    std::string text = text_of(line, field, fmt::format("{}:{}", path.string(), number));
    if (!text.empty()) use(text);
  }
}

}  // namespace spire::inline data
