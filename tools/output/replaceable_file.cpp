#include "tools/output/replaceable_file.h"

#include <fstream>
#include <string>
#include <string_view>

#include <spire/error.h>

#include "engine/observe/page/page.h"

namespace spire {

namespace {

// As to_csv() of a range test and trace_begin begin.
std::string_view beginning(ReplaceableFile kind) {
  switch (kind) {
    case ReplaceableFile::page:
      return page_beginning();
    case ReplaceableFile::range_test:
      return "step,lr,loss,smoothed\n";
    case ReplaceableFile::timeline:
      return "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n";
  }
  return "";
}

}  // namespace

void require_replaceable(const std::filesystem::path& path, ReplaceableFile kind) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return;  // the writer reports it
  std::ifstream file(path, std::ios::binary);
  std::string_view expected = beginning(kind);
  std::string found(expected.size(), '\0');
  file.read(found.data(), static_cast<std::streamsize>(found.size()));
  found.resize(static_cast<size_t>(file.gcount()));
  if (!file.is_open() || found.empty() || found == expected) return;
  fail(Category::config,
       "{}: is there already, and is no file that this command wrote; name another file, or move "
       "that one away",
       path.string());
}

}  // namespace spire
