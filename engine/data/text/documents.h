// Documents of text files that hold several: JSON Lines, Parquet and Arrow.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "engine/data/text/jsonl.h"

namespace spire::inline data {

// Returns whether a file has documents, by its name.
bool holds_documents(const std::filesystem::path& path);

// Returns such files in a folder, sorted by name; where there are none its *.txt, *.txt.gz and
// *.md. Throws Error(data) if it has none of these.
std::vector<std::filesystem::path> document_files(const std::filesystem::path& folder);

// Calls use(text) for each document of the file, in order, but for empty ones. field: the member of
// a JSON object, or the column of a table, that is the text. A line or row without a text of UTF-8
// is broken. Throws Error(data), naming the file, where it cannot be read.
void for_each_document(const std::filesystem::path& path, const std::string& field,
                       const UseText& use, const OnBroken& on_broken = refuse_broken);

}  // namespace spire::inline data
