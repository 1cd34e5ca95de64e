// Reads the two files of a GPT-2 vocabulary.
#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include <spire/error.h>

#include "engine/data/input_file.h"
#include "engine/data/text/vocabulary.h"

namespace spire::inline data {
namespace {

namespace fs = std::filesystem;

constexpr size_t max_file_bytes = size_t{64} << 20;

// Returns the characters that stand for bytes in the files (bytes_to_unicode() of GPT-2's
// encoder.py): printable bytes of Latin-1 stand for themselves, the others are U+0100 and up in
// their order.
std::unordered_map<char32_t, char> byte_alphabet() {
  std::unordered_map<char32_t, char> bytes;
  char32_t next = 256;
  for (char32_t byte = 0; byte < 256; ++byte) {
    bool printable = (byte >= 33 && byte <= 126) || (byte >= 161 && byte != 173);
    bytes.emplace(printable ? byte : next++, static_cast<char>(byte));
  }
  return bytes;
}

// Returns the bytes that a token of the files stands for.
std::string bytes_of(const std::string& token, const fs::path& path) {
  static const std::unordered_map<char32_t, char> alphabet = byte_alphabet();
  std::string bytes;
  for (size_t at = 0; at < token.size();) {
    std::optional<char32_t> code = next_code(token, at);
    auto found = code ? alphabet.find(*code) : alphabet.end();
    if (found == alphabet.end())
      fail(Category::data,
           "{}: token '{}': a character that does not stand for a byte; get GPT-2's files",
           path.string(), token);
    bytes += found->second;
  }
  return bytes;
}

// Finds a file by one of its two usual names.
fs::path one_of(const fs::path& folder, const char* name, const char* other) {
  for (const char* each : {name, other})
    if (fs::path found = find_input(folder / each); !found.empty()) return found;
  fail(Category::data, "{}: contains neither {} nor {}; get GPT-2's own vocabulary files",
       folder.string(), name, other);
}

// Returns the tokens by id, as they are written in the file.
std::vector<std::string> read_tokens(const fs::path& path) {
  nlohmann::json object =
      nlohmann::json::parse(InputFile(path).read_text(max_file_bytes), nullptr, false);
  if (!object.is_object() || object.empty())
    fail(Category::data, "{}: is not a JSON object of tokens and ids; get an intact copy",
         path.string());
  std::vector<std::string> tokens(object.size());
  for (const auto& [token, id] : object.items()) {
    if (!id.is_number_integer() || id < 0 || id >= tokens.size() || token.empty() ||
        !tokens[id.get<size_t>()].empty())
      fail(Category::data, "{}: token '{}': id {}, expected each of 0 to {} once", path.string(),
           token, id.dump(), tokens.size() - 1);
    tokens[id.get<size_t>()] = token;
  }
  return tokens;
}

// Reads the merges line by line; the rank of a merge is its position among them. A first line
// "#version: 0.2" is skipped.
class MergeReader {
 public:
  MergeReader(const fs::path& path, const std::vector<std::string>& tokens) : path_(path) {
    for (const std::string& token : tokens) ids_.emplace(token, static_cast<int32_t>(ids_.size()));
  }

  std::unordered_map<uint64_t, BpeMerge> read() {
    std::string text = InputFile(path_).read_text(max_file_bytes), line;
    for (char c : text + "\n") {
      if (c != '\n') {
        line += c;
        continue;
      }
      ++number_;
      if (line.ends_with('\r')) line.pop_back();
      if (!line.empty() && !(number_ == 1 && line.starts_with("#version"))) add(line);
      line.clear();
    }
    return std::move(merges_);
  }

 private:
  void add(const std::string& line) {
    size_t space = line.find(' ');
    if (space == line.npos || line.find(' ', space + 1) != line.npos)
      refuse("expected two tokens with a space between");
    int32_t left = id_of(line.substr(0, space)), right = id_of(line.substr(space + 1));
    BpeMerge merge = {static_cast<int32_t>(merges_.size()),
                      id_of(line.substr(0, space) + line.substr(space + 1))};
    if (!merges_.emplace(pair_key(left, right), merge).second) refuse("this merge is given twice");
  }

  int32_t id_of(const std::string& token) const {
    auto found = ids_.find(token);
    if (found == ids_.end()) refuse(fmt::format("'{}' is not a token of the vocabulary", token));
    return found->second;
  }

  [[noreturn]] void refuse(const std::string& what) const {
    fail(Category::data, "{}:{}: {}; get both files from the same source", path_.string(), number_,
         what);
  }

  fs::path path_;
  std::unordered_map<std::string, int32_t> ids_;
  std::unordered_map<uint64_t, BpeMerge> merges_;
  int64_t number_ = 0;  // line number
};

}  // namespace

BpeTables read_bpe_tables(const fs::path& folder) {
  fs::path tokens_path = one_of(folder, "encoder.json", "vocab.json");
  fs::path merges_path = one_of(folder, "vocab.bpe", "merges.txt");
  std::vector<std::string> tokens = read_tokens(tokens_path);
  BpeTables tables;
  tables.ids_of_bytes.fill(-1);
  for (const std::string& token : tokens) {
    auto id = static_cast<int32_t>(tables.bytes.size());
    tables.bytes.push_back(bytes_of(token, tokens_path));
    if (tables.bytes.back().size() == 1)
      tables.ids_of_bytes[static_cast<uint8_t>(tables.bytes.back()[0])] = id;
    if (token == end_of_text) tables.end_of_text = id;
  }
  // With a token for each byte any text can be encoded.
  auto missing = std::ranges::find(tables.ids_of_bytes, -1);
  if (missing != tables.ids_of_bytes.end())
    fail(Category::data, "{}: has no token for byte {}; get an intact copy", tokens_path.string(),
         missing - tables.ids_of_bytes.begin());
  tables.merges = MergeReader(merges_path, tokens).read();
  return tables;
}

}  // namespace spire::inline data
