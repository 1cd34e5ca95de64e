#include "engine/data/tables/record_reader.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include <spire/error.h>

#include "engine/base/read_file.h"
#include "engine/data/tables/arrow_file.h"
#include "engine/data/tables/csv_reader.h"
#include "engine/data/text/encoding.h"
#include "engine/data/text/vocabulary.h"

namespace spire::inline data {

namespace {

constexpr std::array arrow_endings = {".parquet", ".arrow", ".feather", ".ipc"};

std::string in_small_letters(const std::filesystem::path& ending) {
  std::string small = ending.string();
  for (char& c : small) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return small;
}

// Orders the forms of one table by their endings; nullopt: the file is no table.
std::optional<size_t> rank_of_table(const std::filesystem::path& name) {
  constexpr std::array endings = {".csv", ".tsv"};
  bool packed = in_small_letters(name.extension()) == ".gz";
  std::string end = in_small_letters(packed ? name.stem().extension() : name.extension());
  for (size_t i = 0; i < endings.size(); ++i)
    if (end == endings[i]) return 2 * i + (packed ? 1 : 0);
  auto arrow = std::ranges::find(arrow_endings, name.extension().string());
  if (arrow == arrow_endings.end()) return {};
  return 2 * endings.size() + static_cast<size_t>(arrow - arrow_endings.begin());
}

// Decorates a reader: names and words go into checkpoints, whose texts are UTF-8.
class Utf8Records final : public RecordReader {
 public:
  Utf8Records(std::filesystem::path path, std::unique_ptr<RecordReader> reader)
      : path_(std::move(path)), reader_(std::move(reader)) {}

  bool next(CsvRecord& record) override {
    if (!reader_->next(record)) return false;
    for (const CsvField& field : record.fields)
      if (auto bad = invalid_utf8(field.text)) refuse(field, *bad);
    return true;
  }

 private:
  [[noreturn]] void refuse(const CsvField& field, size_t bad) const {
    std::string place = to_string(path_, field.position);
    if (is_arrow_file(path_))
      fail(Category::data, "{}: the text '{}' is not UTF-8; write the file with texts in UTF-8",
           place, with_bytes_shown(field.text.substr(0, bad + 20)));
    refuse_encoding(path_, place, std::string_view(field.text).substr(bad));
  }

  std::filesystem::path path_;
  std::unique_ptr<RecordReader> reader_;
};

}  // namespace

bool is_arrow_file(const std::filesystem::path& path) {
  std::filesystem::path name = path.extension() == ".gz" ? path.stem() : path.filename();
  return std::ranges::find(arrow_endings, name.extension()) != arrow_endings.end();
}

std::vector<std::string> tables_in(const std::filesystem::path& folder) {
  std::map<std::string, std::pair<size_t, std::string>> best;  // by stem: rank and name
  for (const std::filesystem::path& entry : list_folder(folder, Category::data)) {
    std::string name = entry.string();
    std::optional<size_t> rank = rank_of_table(name);
    if (!rank || !is_there(folder / entry)) continue;
    std::pair found(*rank, name);
    auto [other, added] = best.emplace(table_stem(name), found);
    if (!added && found < other->second) other->second = found;
  }
  std::vector<std::string> names;
  for (const auto& [stem, found] : best) names.push_back(found.second);
  return names;
}

std::string table_stem(const std::string& name) {
  std::filesystem::path path = name;
  return (in_small_letters(path.extension()) == ".gz" ? path.stem() : path).stem().string();
}

std::unique_ptr<RecordReader> open_records(const std::filesystem::path& path, char separator) {
  if (is_arrow_file(path)) return std::make_unique<Utf8Records>(path, open_arrow_records(path));
  return std::make_unique<Utf8Records>(path, std::make_unique<CsvReader>(path, separator));
}

std::string to_string(const std::filesystem::path& path, const CsvPosition& position) {
  return fmt::format("{}:{}:{}", path.string(), position.line, position.column);
}

}  // namespace spire::inline data
