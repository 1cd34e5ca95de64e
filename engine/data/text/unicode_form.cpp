#include "engine/data/text/unicode_form.h"

#include <algorithm>
#include <cstdlib>
#include <memory>

#include <utf8proc.h>

namespace spire::inline data {
namespace {

bool is_ascii(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

}  // namespace

std::string composed(std::string_view text) {
  if (is_ascii(text)) return std::string(text);
  utf8proc_uint8_t* made = nullptr;
  utf8proc_ssize_t bytes =
      utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                   static_cast<utf8proc_ssize_t>(text.size()), &made,
                   static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
  std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owner(made, &std::free);
  if (bytes < 0) return std::string(text);
  return {reinterpret_cast<const char*>(made), static_cast<size_t>(bytes)};
}

std::optional<size_t> find_name(const std::vector<std::string>& names, std::string_view name) {
  auto exact = std::ranges::find(names, name);
  if (exact != names.end()) return static_cast<size_t>(exact - names.begin());
  if (is_ascii(name)) return {};
  std::string wanted = composed(name);
  std::optional<size_t> found;
  for (size_t i = 0; i < names.size(); ++i) {
    if (is_ascii(names[i]) || composed(names[i]) != wanted) continue;
    if (found) return {};  // ambiguous
    found = i;
  }
  return found;
}

}  // namespace spire::inline data
