#include "engine/data/text/documents.h"

#include <algorithm>

#include <spire/error.h>

#include "engine/base/read_file.h"
#include "engine/data/tables/arrow_file.h"
#include "engine/data/text/vocabulary.h"

namespace spire::inline data {

namespace fs = std::filesystem;

namespace {

bool is_text(const fs::path& name) {
  std::string file = name.filename().string();
  return !file.starts_with('.') &&
         (file.ends_with(".txt") || file.ends_with(".txt.gz") || file.ends_with(".md"));
}

}  // namespace

bool holds_documents(const fs::path& path) {
  return is_jsonl(path) || is_arrow_file(path);
}

std::vector<fs::path> document_files(const fs::path& folder) {
  std::vector<fs::path> files, texts;
  for (const fs::path& name : list_folder(folder, Category::data)) {
    if (holds_documents(name)) files.push_back(folder / name);
    if (is_text(name)) texts.push_back(folder / name);
  }
  if (files.empty()) files = std::move(texts);
  if (files.empty())
    fail(Category::data,
         "{}: has no *.jsonl, *.jsonl.gz, *.parquet, *.arrow, *.txt, *.txt.gz or *.md; set "
         "data.tokens.text to a folder with some, or to files",
         folder.string());
  std::ranges::sort(files);
  return files;
}

void for_each_document(const fs::path& path, const std::string& field, const UseText& use,
                       const OnBroken& on_broken) {
  if (is_jsonl(path)) return for_each_json_text(path, field, use, on_broken);
  for_each_arrow_text(path, field, [&](int64_t row, const std::string& text) {
    if (auto bad = invalid_utf8(text))
      return on_broken(Error(Category::data,
                             fmt::format("{}:{}: byte {} of its text is not UTF-8; correct the row",
                                         path.string(), row, *bad)));
    use(text);
  });
}

}  // namespace spire::inline data
