// Documents of JSON Lines files (jsonlines.org): a JSON object a line, one of whose members is the
// text of a document.
#pragma once
#include <filesystem>
#include <functional>
#include <string>

#include <spire/error.h>

namespace spire::inline data {

// Returns whether a file has this form, by its name: *.jsonl or *.jsonl.gz.
bool is_jsonl(const std::filesystem::path& path);

using UseText = std::function<void(const std::string& text)>;

// What happens to a line or row without a text, which is then left out, unless this throws. error:
// Error(data), which names it.
using OnBroken = std::function<void(const Error& error)>;
inline void refuse_broken(const Error& error) {
  throw Error(error);
}

// Calls use(text) for each line of the file, plain or gzip, in order; empty lines, and objects
// whose text is empty, are left out. A line is broken that is no JSON object or has no text (a
// string of UTF-8) in its member `field`: "a.b" is the member b of the object a. Other members do
// not matter.
void for_each_json_text(const std::filesystem::path& path, const std::string& field,
                        const UseText& use, const OnBroken& on_broken = refuse_broken);

}  // namespace spire::inline data
