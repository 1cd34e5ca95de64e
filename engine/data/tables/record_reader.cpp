#include "engine/data/tables/record_reader.h"

#include <algorithm>
#include <array>
#include <string>

#include <fmt/format.h>

#include "engine/data/input_file.h"
#include "engine/data/tables/arrow_file.h"
#include "engine/data/tables/csv_reader.h"

namespace spire::inline data {

namespace {

constexpr std::array arrow_endings = {".parquet", ".arrow", ".feather", ".ipc"};

}  // namespace

bool is_arrow_file(const std::filesystem::path& path) {
  std::filesystem::path name = path.extension() == ".gz" ? path.stem() : path.filename();
  return std::ranges::find(arrow_endings, name.extension()) != arrow_endings.end();
}

std::filesystem::path find_table(const std::filesystem::path& folder, const std::string& name) {
  std::filesystem::path found = find_input(folder / (name + ".csv"));
  for (const char* ending : arrow_endings)
    if (found.empty()) found = find_input(folder / (name + ending));
  return found;
}

std::unique_ptr<RecordReader> open_records(const std::filesystem::path& path, char separator) {
  if (is_arrow_file(path)) return open_arrow_records(path);
  return std::make_unique<CsvReader>(path, separator);
}

std::string to_string(const std::filesystem::path& path, const CsvPosition& position) {
  return fmt::format("{}:{}:{}", path.string(), position.line, position.column);
}

}  // namespace spire::inline data
