// How GPT-2 parts a text before it merges bytes (Radford et al. 2019, encoder.py): the matches of
//   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
// A word keeps the one space before it; a run of spaces before a word leaves its last one to it.
#pragma once
#include <cstddef>
#include <string_view>

namespace spire::inline data {

// The piece that begins at text[at]; at < text.size(), text is UTF-8.
std::string_view piece_at(std::string_view text, size_t at);

}  // namespace spire::inline data
