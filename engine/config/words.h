// Maps the enums of run_config.h to their words in YAML and messages, and back. The word of an
// enumerator is its name, except for those in the table below.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#include <spire/run_config.h>

namespace spire {

// Enumerators whose word is not their name, mostly because C++ reserves that word.
struct ReservedWord {
  std::string_view enumerator, word;
};
inline constexpr ReservedWord reserved_words[] = {{"automatic", "auto"},
                                                  {"yes", "true"},
                                                  {"no", "false"},
                                                  {"classes", "class"},
                                                  {"values", "value"}};

// Returns the name of an enumerator as the compiler prints it; empty for any other value.
template <auto value>
consteval std::string_view enumerator_name() {
  std::string_view text = __PRETTY_FUNCTION__;  // "... [with auto value = ...::Pin::yes; ...]"
  text.remove_prefix(text.find("value = ") + std::string_view("value = ").size());
  text = text.substr(0, text.find_first_of(";]"));
  if (text.find(')') != text.npos) return {};  // "(spire::RunConfig::Pin)3"
  return text.substr(text.rfind(':') + 1);
}

template <auto value>
consteval std::string_view enumerator_word() {
  for (const ReservedWord& row : reserved_words)
    if (row.enumerator == enumerator_name<value>()) return row.word;
  return enumerator_name<value>();
}

// Counts the enumerators, whose values must be 0, 1, 2, ... Does not compile if there are gaps or
// more enumerators than it looks for.
template <typename Enum>
consteval size_t count_enumerators() {
  constexpr size_t looked_for = 16;
  return []<size_t... i>(std::index_sequence<i...>) {
    std::array<bool, looked_for> named = {!enumerator_name<static_cast<Enum>(i)>().empty()...};
    size_t count = 0;
    while (count < looked_for && named[count]) ++count;
    if (count == 0 || count == looked_for) throw "no enumerators, or too many";
    for (size_t j = count; j < looked_for; ++j)
      if (named[j]) throw "a gap between enumerators";
    return count;
  }
  (std::make_index_sequence<looked_for>());
}

// The words of an enum in the order of its enumerators. The attribute hides the symbols, because
// the compiler exports variable templates over public types in spite of its flags.
template <typename Enum>
inline constexpr auto all_words
    [[gnu::visibility("hidden")]] = []<size_t... i>(std::index_sequence<i...>) {
  return std::array<std::string_view, sizeof...(i)>{enumerator_word<static_cast<Enum>(i)>()...};
}
(std::make_index_sequence<count_enumerators<Enum>()>());

template <typename Enum>
concept HasWords = std::is_enum_v<Enum>;

// Strategy::sharded -> "sharded"
template <HasWords Enum>
constexpr std::string_view word_of(Enum value) {
  return all_words<Enum>.at(static_cast<size_t>(value));
}

// "sharded" -> Strategy::sharded; nullopt for an unknown word.
template <HasWords Enum>
constexpr std::optional<Enum> find_word(std::string_view word) {
  auto found = std::ranges::find(all_words<Enum>, word);
  if (found == all_words<Enum>.end()) return std::nullopt;
  return static_cast<Enum>(found - all_words<Enum>.begin());
}

static_assert(word_of(RunConfig::Strategy::sharded) == "sharded");
static_assert(word_of(CsvConfig::Header::automatic) == "auto");

}  // namespace spire
