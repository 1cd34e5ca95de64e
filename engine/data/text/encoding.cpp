#include "engine/data/text/encoding.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <utility>

#include <utf8proc.h>

#include "engine/base/fail.h"
#include "engine/base/text.h"
#include "engine/data/input_file.h"

namespace spire {
namespace {

bool is_ascii(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

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

// What a ZIP archive is, by the names in it.
std::string_view kind_of_zip(std::string_view begin) {
  if (begin.find("xl/") != begin.npos) return "an Excel workbook; save it as CSV";
  if (begin.find("opendocument.spreadsheet") != begin.npos)
    return "a spreadsheet of LibreOffice; save it as CSV";
  if (begin.find("word/") != begin.npos) return "a Word document; save it as plain text";
  return "a ZIP archive; unpack it, and name a file in it";
}

// What a file is that is no text, and what to do; empty: it may be text.
std::string_view other_kind(std::string_view begin) {
  using namespace std::string_view_literals;
  if (begin.starts_with("PK\x03\x04"sv)) return kind_of_zip(begin);
  constexpr std::pair<std::string_view, std::string_view> kinds[] = {
      {"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"sv,
       "a workbook of an old Excel, or an old Word document; save it "
       "as CSV or plain text"},
      {"\xff\xd8\xff"sv, "a JPEG image, not a table or a text"},
      {"\x89PNG\r\n"sv, "a PNG image, not a table or a text"},
      {"%PDF-"sv, "a PDF file, not a table or a text; copy what is in it into one"},
      {"\x89HDF\r\n"sv, "an HDF5 file; data.name: hdf5 reads it"},
      {"PAR1"sv, "a Parquet file; end its name with .parquet"}};
  for (const auto& [magic, kind] : kinds)
    if (begin.starts_with(magic)) return kind;
  return {};
}

// Latin-1 has no characters from 80 to 9F, where Windows has its quotes and the euro. In UTF-8 such
// bytes stand behind others that are no ASCII.
bool is_windows_text(std::string_view text) {
  unsigned char before = 0;
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x80 && byte < 0xa0 && before < 0x80) return true;
    before = byte;
  }
  return false;
}

// The first MiB of a text. A file that cannot be read again says nothing.
std::string head_of_file(const std::filesystem::path& file) {
  std::string head(size_t{1} << 20, '\0');
  try {
    InputFile input(file);
    head.resize(input.read({reinterpret_cast<uint8_t*>(head.data()), head.size()}));
  } catch (const Error&) {
    head.clear();
  }
  return head;
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

void refuse_other_kinds(const std::filesystem::path& file, std::string_view begin) {
  if (std::string_view kind = other_kind(begin); !kind.empty())
    fail(Category::data, "{}: is {}", printable(file.string()), kind);
}

void require_text(const std::filesystem::path& file, std::string_view begin) {
  refuse_other_kinds(file, begin);
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
  bool windows = is_windows_text(text) || is_windows_text(head_of_file(file));
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

}  // namespace spire
