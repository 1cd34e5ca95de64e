// Documents of JSON Lines files (jsonlines.org): a JSON object a line, one of whose members is the
// text of a document.
#pragma once
#include <filesystem>
#include <functional>
#include <string>

namespace spire::inline data {

// Returns whether a file has this form, by its name: *.jsonl or *.jsonl.gz.
bool is_jsonl(const std::filesystem::path& path);

// Calls use(text) for each line of the file, plain or gzip, in order; empty lines, and objects
// whose text is empty, are left out. Throws Error(data), naming file and line, for a line that is
// no JSON object or has no text (a string of UTF-8) in its member `field`.
void for_each_json_text(const std::filesystem::path& path, const std::string& field,
                        const std::function<void(const std::string& text)>& use);

}  // namespace spire::inline data
