#include "engine/data/text/jsonl.h"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "engine/base/fail.h"
#include "engine/base/read_file.h"
#include "engine/data/input_file.h"
#include "engine/data/tables/record_reader.h"
#include "engine/data/text/encoding.h"
#include "engine/data/text/vocabulary.h"

namespace spire {
namespace {

namespace fs = std::filesystem;

using Json = nlohmann::json;

bool is_of_word(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '+' ||
         c == '-' || c == '.';
}

// A number, or one of the words that stand for values.
bool is_value_word(std::string_view word) {
  constexpr std::array<std::string_view, 6> words = {"true", "false",    "null",
                                                     "NaN",  "Infinity", "-Infinity"};
  if (std::ranges::find(words, word) != words.end()) return true;
  return !word.empty() && std::ranges::all_of(word, [](char c) {
    return (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.' || c == 'e' || c == 'E';
  });
}

// Steps through a line. Each function returns false where the text is not what it steps over.
class JsonScanner {
 public:
  explicit JsonScanner(std::string_view text) : text_(text) {}

  bool members(std::vector<JsonMember>& found) {
    if (!take('{')) return false;
    if (take('}')) return ended();
    do {
      skip_blanks();
      size_t begin = at_;
      if (!string()) return false;
      Json key = Json::parse(text_.substr(begin, at_ - begin), nullptr, false);
      if (!key.is_string() || !take(':')) return false;
      skip_blanks();
      begin = at_;
      if (!value()) return false;
      found.push_back({key.get<std::string>(), text_.substr(begin, at_ - begin)});
    } while (take(','));
    return take('}') && ended();
  }

 private:
  void skip_blanks() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != text_.npos) ++at_;
  }
  bool take(char c) {
    skip_blanks();
    bool there = at_ < text_.size() && text_[at_] == c;
    if (there) ++at_;
    return there;
  }
  bool ended() {
    skip_blanks();
    return at_ == text_.size();
  }
  bool string() {
    if (at_ >= text_.size() || text_[at_] != '"') return false;
    for (++at_; at_ < text_.size(); ++at_) {
      if (text_[at_] == '"') {
        ++at_;
        return true;
      }
      if (text_[at_] == '\\') ++at_;
    }
    return false;
  }
  bool word() {
    size_t begin = at_;
    while (at_ < text_.size() && is_of_word(text_[at_])) ++at_;
    return is_value_word(text_.substr(begin, at_ - begin));
  }
  bool value() {
    skip_blanks();
    if (at_ >= text_.size()) return false;
    if (text_[at_] == '"') return string();
    if (text_[at_] == '{' || text_[at_] == '[') return brackets();
    return word();
  }
  // What is between brackets is stepped over by words, without a look at their order.
  bool brackets() {
    std::string open;
    do {
      skip_blanks();
      if (at_ >= text_.size()) return false;
      char c = text_[at_];
      if (c == '{' || c == '[') {
        open.push_back(c);
        ++at_;
      } else if (c == '}' || c == ']') {
        if (open.back() != (c == '}' ? '{' : '[')) return false;
        open.pop_back();
        ++at_;
      } else if (c == ',' || c == ':') {
        ++at_;
      } else if (!value()) {
        return false;
      }
    } while (!open.empty());
    return true;
  }

  std::string_view text_;
  size_t at_ = 0;
};

using Json = nlohmann::json;

constexpr size_t max_bytes = size_t{1} << 34;

// What the parser says after its own name and number: "[json.exception.parse_error.101] ...".
std::string reason_of(const Json::exception& error) {
  std::string text = error.what();
  size_t end = text.find("] ");
  return end == std::string::npos ? text : text.substr(end + 2);
}

// Returns a line with numbers, of the same length, in place of NaN and Infinity, which the parser
// refuses and json_members() does not.
std::string with_numbers(std::string_view line) {
  std::string text(line);
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') quoted = !quoted;
    if (quoted && text[i] == '\\') ++i;
    for (std::string_view word : {"NaN", "Infinity"})
      if (!quoted && text.compare(i, word.size(), word) == 0)
        text.replace(i, word.size(), "0" + std::string(word.size() - 1, ' '));
  }
  return text;
}

// Says why a line has no members.
[[noreturn]] void fail_no_object(std::string_view line, const std::string& place) {
  Json value;
  try {
    value = Json::parse(with_numbers(line));
  } catch (const Json::exception& error) {
    fail(Category::data,
         "{}: is no JSON: {}; write an object a line, such as {{\"text\": \"...\"}}", place,
         reason_of(error));
  }
  fail(Category::data, "{}: is {}, not an object; write one a line, such as {{\"text\": \"...\"}}",
       place, value.type_name());
}

// The kind of a value, by how it begins.
const char* kind_of(std::string_view value) {
  switch (value.front()) {
    case '"':
      return "string";
    case '{':
      return "object";
    case '[':
      return "array";
    case 't':
    case 'f':
      return "boolean";
    case 'n':
      return "null";
    default:
      return "number";
  }
}

// Whether a value is what chats are: an array of objects of a role and a content.
bool is_chat(std::string_view value) {
  auto has = [&](std::string_view word) { return value.find(word) != value.npos; };
  return value.starts_with('[') &&
         ((has("\"role\"") && has("\"content\"")) || (has("\"from\"") && has("\"value\"")));
}

[[noreturn]] void fail_chat(const std::string& key, const std::string& place) {
  fail(Category::data,
       "{}: its \"{}\" is a chat of several messages, which a template has to make one text; write "
       "that text as a member of its own, in Python by tokenizer.apply_chat_template(messages, "
       "tokenize=False), and set data.tokens.field to its key",
       place, key);
}

[[noreturn]] void fail_missing(const std::vector<JsonMember>& members, const std::string& field,
                               const std::string& place) {
  std::vector<std::string> keys;
  for (const JsonMember& member : members) {
    if (is_chat(member.value)) fail_chat(member.key, place);
    keys.push_back(member.key);
  }
  std::ranges::sort(keys);
  fail(Category::data, "{}: has no \"{}\", but {}; set data.tokens.field to the key of the text",
       place, field, keys.empty() ? "no keys at all" : fmt::format("{}", fmt::join(keys, ", ")));
}

// Returns the value of a member; of several of that key the last one. "a.b" is the member b of the
// object a, unless a member is called so.
std::optional<std::string_view> find_member(const std::vector<JsonMember>& members,
                                            std::string_view field) {
  auto named = [&](std::string_view key) -> std::optional<std::string_view> {
    auto found = std::find_if(members.rbegin(), members.rend(),
                              [&](const JsonMember& member) { return member.key == key; });
    return found == members.rend() ? std::nullopt : std::optional(found->value);
  };
  if (auto whole = named(field)) return whole;
  for (size_t dot = field.find('.'); dot != field.npos; dot = field.find('.', dot + 1)) {
    auto outer = named(field.substr(0, dot));
    auto inner = outer ? json_members(*outer) : std::nullopt;
    if (auto found = inner ? find_member(*inner, field.substr(dot + 1)) : std::nullopt)
      return found;
  }
  return {};
}

// place: "FILE:line", for messages.
std::string text_of(std::string_view line, const std::string& field, const std::string& place) {
  auto members = json_members(line);
  if (!members) fail_no_object(line, place);
  auto found = find_member(*members, field);
  if (!found) fail_missing(*members, field, place);
  if (is_chat(*found)) fail_chat(field, place);
  if (!found->starts_with('"'))
    fail(Category::data,
         "{}: its \"{}\" is {}, not a text; correct the line, or set data.tokens.field to the key "
         "of the text",
         place, field, kind_of(*found));
  Json text = Json::parse(*found, nullptr, false);
  if (!text.is_string()) fail_no_object(line, place);
  return text.get<std::string>();
}

bool is_text(const fs::path& name) {
  std::string file = name.filename().string();
  return !file.starts_with('.') &&
         (file.ends_with(".txt") || file.ends_with(".txt.gz") || file.ends_with(".md"));
}

}  // namespace

std::optional<std::vector<JsonMember>> json_members(std::string_view object) {
  std::vector<JsonMember> found;
  return JsonScanner(object).members(found) ? std::optional(std::move(found)) : std::nullopt;
}

bool is_jsonl(const fs::path& path) {
  fs::path name = path.extension() == ".gz" ? path.stem() : path.filename();
  return name.extension() == ".jsonl";
}

void for_each_json_text(const fs::path& path, const std::string& field, const UseText& use,
                        const OnBroken& on_broken) {
  std::string all = InputFile(path).read_text(max_bytes);
  require_text(path, all);
  int64_t number = 0;
  size_t first = all.starts_with(byte_order_mark) ? byte_order_mark.size() : 0;
  for (size_t begin = first; begin < all.size();) {
    size_t end = std::min(all.find('\n', begin), all.size());
    std::string_view line(all.data() + begin, end - begin);
    begin = end + 1;
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    std::string text;
    try {
      std::string place = fmt::format("{}:{}", path.string(), number);
      if (auto bad = invalid_utf8(line)) refuse_encoding(path, place, line.substr(*bad));
      text = text_of(line, field, place);
    } catch (const Error& error) {
      if (error.category() != Category::data) throw;
      on_broken(error);
    }
    if (!text.empty()) use(text);
  }
}

bool holds_documents(const fs::path& path) {
  return is_jsonl(path) || is_arrow_file(path);
}

std::vector<fs::path> document_files(const fs::path& folder) {
  std::vector<fs::path> files, texts;
  for (const fs::path& name : list_folder(folder, Category::data)) {
    if (holds_documents(name)) files.push_back(folder / name);
    if (is_text(name)) texts.push_back(folder / name);
  }
  if (files.empty()) files = std::move(texts);
  if (files.empty())
    fail(Category::data,
         "{}: has no *.jsonl, *.jsonl.gz, *.parquet, *.arrow, *.txt, *.txt.gz or *.md; set "
         "data.tokens.text to a folder with some, or to files",
         folder.string());
  std::ranges::sort(files);
  return files;
}

void for_each_document(const fs::path& path, const std::string& field, const UseText& use,
                       const OnBroken& on_broken) {
  if (is_jsonl(path)) return for_each_json_text(path, field, use, on_broken);
  for_each_arrow_text(path, field, [&](int64_t row, const std::string& text) {
    if (auto bad = invalid_utf8(text))
      return on_broken(Error(Category::data,
                             fmt::format("{}:{}: byte {} of its text is not UTF-8; correct the row",
                                         path.string(), row, *bad)));
    use(text);
  });
}

}  // namespace spire
