#include "engine/data/text/encoding.h"

#include <algorithm>
#include <optional>

#include <spire/error.h>
#include <spire/text.h>

namespace spire::inline data {
namespace {

struct WideText {
  const char* encoding;  // for iconv
  const char* mark;      // its byte order mark in messages; empty: it has none
};

// Marks of 4 bytes come first: that of UTF-32 begins with that of UTF-16.
std::optional<WideText> wide_text(std::string_view begin) {
  using namespace std::string_view_literals;
  if (begin.starts_with("\xff\xfe\0\0"sv)) return WideText{"UTF-32", "FF FE 00 00"};
  if (begin.starts_with("\0\0\xfe\xff"sv)) return WideText{"UTF-32", "00 00 FE FF"};
  if (begin.starts_with("\xff\xfe"sv)) return WideText{"UTF-16", "FF FE"};
  if (begin.starts_with("\xfe\xff"sv)) return WideText{"UTF-16", "FE FF"};
  auto zero = [&](size_t i) { return begin[i] == '\0'; };
  if (begin.size() < 4 || zero(0) + zero(1) + zero(2) + zero(3) != 2) return {};
  if (zero(1) && zero(3)) return WideText{"UTF-16LE", ""};
  if (zero(0) && zero(2)) return WideText{"UTF-16BE", ""};
  return {};
}

// "iconv -f latin1 -t utf-8 t.csv > t.utf8.csv"
std::string conversion(const std::filesystem::path& file, const char* encoding) {
  std::filesystem::path plain = file;
  bool packed = file.extension() == ".gz";
  if (packed) plain.replace_extension();
  std::filesystem::path result = plain;
  result.replace_extension(".utf8" + plain.extension().string());
  std::string from = printable(file.string()), to = printable(result.string());
  return packed ? fmt::format("gunzip -c {} | iconv -f {} -t utf-8 > {}", from, encoding, to)
                : fmt::format("iconv -f {} -t utf-8 {} > {}", encoding, from, to);
}

}  // namespace

void refuse_wide_text(const std::filesystem::path& file, std::string_view begin) {
  std::optional<WideText> found = wide_text(begin);
  if (!found) return;
  std::string shown_by = *found->mark == '\0'
                             ? "a zero byte beside each character"
                             : fmt::format("its byte order mark (BOM) {}", found->mark);
  fail(Category::data, "{}:1: the text is not UTF-8, but {} by {}; convert it: {}",
       printable(file.string()), found->encoding, shown_by, conversion(file, found->encoding));
}

void refuse_encoding(const std::filesystem::path& file, const std::string& place,
                     std::string_view text, std::string_view otherwise) {
  // Latin-1 has no characters from 80 to 9F, where Windows has its quotes and the euro.
  bool windows = std::ranges::any_of(text, [](char c) {
    auto byte = static_cast<unsigned char>(c);
    return byte >= 0x80 && byte < 0xa0;
  });
  const char* encoding = windows ? "windows-1252" : "latin1";
  fail(Category::data,
       "{}: the text is not UTF-8 ('{}'; {}?); convert it, with its own encoding if it is another "
       "one: {}{}",
       place, with_bytes_shown(text.substr(0, 20)), windows ? "Windows-1252" : "Latin-1",
       conversion(file, encoding), otherwise);
}

std::string with_bytes_shown(std::string_view text) {
  std::string shown;
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    shown += byte < 0x80 ? printable({&c, 1}) : fmt::format("\\x{:02x}", byte);
  }
  return shown;
}

}  // namespace spire::inline data
