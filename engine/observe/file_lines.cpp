#include "engine/observe/file_lines.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

namespace spire {
namespace {

constexpr size_t piece_bytes = size_t{1} << 20;
constexpr size_t longest_line = size_t{1} << 20;

}  // namespace

void for_each_line(const RegularFile& file, const std::function<void(std::string_view)>& take,
                   const std::function<void(std::string_view)>& torn) {
  std::vector<std::byte> piece(piece_bytes);
  std::string rest;
  while (size_t got = file.read(piece)) {
    std::string_view text(reinterpret_cast<const char*>(piece.data()), got);
    for (size_t end; (end = text.find('\n')) != text.npos; text.remove_prefix(end + 1)) {
      rest.append(text.substr(0, end));
      if (!rest.empty()) take(rest);
      rest.clear();
    }
    rest.append(text.substr(0, longest_line - std::min(longest_line, rest.size())));
  }
  if (!rest.empty()) torn(rest);
}

}  // namespace spire
