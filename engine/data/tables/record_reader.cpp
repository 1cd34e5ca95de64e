#include "engine/data/tables/record_reader.h"

#include <string>

#include <fmt/format.h>

#include "engine/data/tables/arrow_file.h"
#include "engine/data/tables/csv_reader.h"

namespace spire::inline data {

bool is_arrow_file(const std::filesystem::path& path) {
  std::string ending = path.extension().string();
  return ending == ".parquet" || ending == ".arrow" || ending == ".feather" || ending == ".ipc";
}

std::unique_ptr<RecordReader> open_records(const std::filesystem::path& path, char separator) {
  if (is_arrow_file(path)) return open_arrow_records(path);
  return std::make_unique<CsvReader>(path, separator);
}

std::string to_string(const std::filesystem::path& path, const CsvPosition& position) {
  return fmt::format("{}:{}:{}", path.string(), position.line, position.column);
}

}  // namespace spire::inline data
