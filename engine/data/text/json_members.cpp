#include "engine/data/text/json_members.h"

#include <algorithm>
#include <array>

#include <nlohmann/json.hpp>

namespace spire::inline data {
namespace {

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

}  // namespace

std::optional<std::vector<JsonMember>> json_members(std::string_view object) {
  std::vector<JsonMember> found;
  return JsonScanner(object).members(found) ? std::optional(std::move(found)) : std::nullopt;
}

}  // namespace spire::inline data
