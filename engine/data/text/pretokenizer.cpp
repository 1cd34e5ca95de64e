#include "engine/data/text/pretokenizer.h"

#include <array>

#include <spire/error.h>

#include "engine/data/text/unicode_classes.h"
#include "engine/data/text/utf8.h"

namespace spire::inline data {
namespace {

enum class Kind { letter, number, space, other };

Kind kind_of(char32_t code) {
  if (is_letter(code)) return Kind::letter;
  if (is_number(code)) return Kind::number;
  return is_space(code) ? Kind::space : Kind::other;
}

// Of the code point at text[at], and `at` moves behind it.
Kind next_kind(std::string_view text, size_t& at) {
  std::optional<char32_t> code = next_code(text, at);
  require(code.has_value(), "byte {}: the text is not UTF-8", at);
  return kind_of(*code);
}

// Behind the run of this kind that begins at `at`.
size_t end_of_run(std::string_view text, size_t at, Kind kind) {
  while (at < text.size()) {
    size_t next = at;
    if (next_kind(text, next) != kind) break;
    at = next;
  }
  return at;
}

size_t contraction_at(std::string_view text) {
  constexpr std::array<std::string_view, 7> endings = {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"};
  for (std::string_view ending : endings)
    if (text.starts_with(ending)) return ending.size();
  return 0;
}

// All of a run of spaces at the end of the text; else all but its last one, unless that is all.
size_t end_of_spaces(std::string_view text, size_t at) {
  size_t last = at, end = at;
  while (end < text.size()) {
    size_t next = end;
    if (next_kind(text, next) != Kind::space) break;
    last = end;
    end = next;
  }
  return end == text.size() || last == at ? end : last;
}

}  // namespace

std::string_view piece_at(std::string_view text, size_t at) {
  if (size_t size = contraction_at(text.substr(at)); size > 0) return text.substr(at, size);
  size_t word = at + (text[at] == ' ' ? 1 : 0);
  if (word < text.size()) {
    size_t next = word;
    Kind kind = next_kind(text, next);
    if (kind != Kind::space) return text.substr(at, end_of_run(text, next, kind) - at);
  }
  return text.substr(at, end_of_spaces(text, at) - at);
}

}  // namespace spire::inline data
