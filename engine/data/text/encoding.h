// Texts in other encodings than UTF-8, which are refused with the command that converts the file.
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace spire {

inline constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";  // UTF-8's, which Excel writes

// Throws Error(data) where a file begins as a workbook, an archive, an image and the like, which is
// no text in any encoding. begin: its first bytes, some thousand or all.
void refuse_other_kinds(const std::filesystem::path& file, std::string_view begin);

// The same, and also where it begins as UTF-16 or UTF-32 does, with a byte order mark or a zero
// byte beside each ASCII character.
void require_text(const std::filesystem::path& file, std::string_view begin);

// Throws Error(data) for a text that is not UTF-8. place: "table.csv:12:7". text: some text from
// its first wrong byte on, by which, with the head of the file, the encoding is guessed. otherwise:
// further advice for the message.
[[noreturn]] void refuse_encoding(const std::filesystem::path& file, const std::string& place,
                                  std::string_view text, std::string_view otherwise = "");

// Returns the text with bytes that are not ASCII escaped as \xe9, for words in an unknown encoding.
std::string with_bytes_shown(std::string_view text);

// Compares names that may be written in two Unicode forms: macOS stores names of files with letters
// and accents apart (NFD), other systems and most programs together (NFC).

// Returns the text in the form NFC; what is no UTF-8 as it is.
std::string composed(std::string_view text);

// Returns the index of `name`, or else of the one name that differs only in Unicode form.
std::optional<size_t> find_name(const std::vector<std::string>& names, std::string_view name);

}  // namespace spire
