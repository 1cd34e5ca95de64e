// Documents of JSON Lines files (jsonlines.org), where each line is a JSON object, one member of
// which is the text of a document.
#pragma once
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <spire/error.h>

namespace spire {

// Members of a JSON object in a line of text, found without decoding their values.

struct JsonMember {
  std::string key;
  std::string_view value;  // as it is written, within the line
};

// Returns the members of an object (RFC 8259), in their order. Values are not decoded: numbers of
// any size, bytes that are no UTF-8, and the NaN, Infinity and -Infinity that Python writes are let
// through. nullopt: the text is no object.
std::optional<std::vector<JsonMember>> json_members(std::string_view object);

// Returns whether a file has this form, by its name: *.jsonl or *.jsonl.gz.
bool is_jsonl(const std::filesystem::path& path);

using UseText = std::function<void(const std::string& text)>;

// Called for a line or row without a text, which is left out unless the call throws. error: an
// Error(data) that names the line or row.
using OnBroken = std::function<void(const Error& error)>;
inline void refuse_broken(const Error& error) {
  throw Error(error);
}

// Calls use(text) for each line of the file, plain or gzip, in order; empty lines, and objects
// whose text is empty, are left out. on_broken is called for a line that is no JSON object, or has
// no text (a string of UTF-8) in its member `field`: "a.b" is the member b of the object a. Other
// members do not matter.
void for_each_json_text(const std::filesystem::path& path, const std::string& field,
                        const UseText& use, const OnBroken& on_broken = refuse_broken);

// Returns whether a file has documents, by its name: JSON Lines, Parquet or Arrow.
bool holds_documents(const std::filesystem::path& path);

// Returns the files with documents in a folder, sorted by name; if there are none, its *.txt,
// *.txt.gz and *.md. Throws Error(data) if it has none of these.
std::vector<std::filesystem::path> document_files(const std::filesystem::path& folder);

// Calls use(text) for each document of the file, in order, except empty ones. field: the member of
// a JSON object, or the column of a table, that is the text. Calls on_broken for a line or row
// without a text of UTF-8. Throws Error(data), naming the file, if it cannot be read.
void for_each_document(const std::filesystem::path& path, const std::string& field,
                       const UseText& use, const OnBroken& on_broken = refuse_broken);

}  // namespace spire
