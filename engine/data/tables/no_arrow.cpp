// A build without Apache Arrow: Parquet and Arrow files are refused.
#include "engine/base/fail.h"
#include "engine/data/tables/record_reader.h"

namespace spire {
namespace {

[[noreturn]] void refuse(const std::filesystem::path& path) {
  fail(Category::data,
       "{}: this build cannot read Parquet and Arrow files; build Spire with Apache Arrow "
       "(-DSPIRE_ARROW=ON, docs/building.md#apache-arrow), or write the table as CSV, documents as "
       "JSONL (docs/formats.md#parquet-and-arrow)",
       path.string());
}

}  // namespace

std::unique_ptr<RecordReader> open_arrow_records(const std::filesystem::path& path) {
  refuse(path);
}

void for_each_arrow_text(const std::filesystem::path& path, const std::string& /*column*/,
                         const UseArrowText& /*use*/) {
  refuse(path);
}

}  // namespace spire
