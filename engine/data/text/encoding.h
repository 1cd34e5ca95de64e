// Texts in other encodings than UTF-8, which are refused with the command that converts the file.
#pragma once
#include <filesystem>
#include <string>
#include <string_view>

namespace spire::inline data {

inline constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";  // UTF-8's, which Excel writes

// Throws Error(data) where a file of text begins as something else: as UTF-16 or UTF-32 does, with
// a byte order mark or a zero byte beside each ASCII character, or as a workbook, an archive, an
// image and the like. begin: its first bytes, some thousand or all.
void require_text(const std::filesystem::path& file, std::string_view begin);

// Throws Error(data) for a text that is not UTF-8. place: "table.csv:12:7". text: some of it from
// its first wrong byte on. The encoding is guessed by that and the head of the file. otherwise:
// what else helps.
[[noreturn]] void refuse_encoding(const std::filesystem::path& file, const std::string& place,
                                  std::string_view text, std::string_view otherwise = "");

// Returns the text with bytes that are no ASCII as \xe9: a word of an unknown encoding.
std::string with_bytes_shown(std::string_view text);

}  // namespace spire::inline data
