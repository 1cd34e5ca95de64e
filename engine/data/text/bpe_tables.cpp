// Makes the tables of a vocabulary from its tokens and merges, whatever file they come from.
#include "engine/data/text/bpe_tables.h"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "engine/base/fail.h"
#include "engine/data/input_file.h"
#include "engine/data/text/vocabulary.h"

namespace spire {
namespace {

namespace fs = std::filesystem;

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

// Reads the two files of a GPT-2 vocabulary, and chooses between them and a tokenizer.json.

constexpr std::array tokens_names = {"encoder.json", "vocab.json"};
constexpr std::array merges_names = {"vocab.bpe", "merges.txt"};

// Finds a file by one of its two usual names; empty: there is none.
fs::path find_one_of(const fs::path& folder, std::array<const char*, 2> names) {
  for (const char* each : names)
    if (fs::path found = find_input(folder / each); !found.empty()) return found;
  return {};
}

fs::path one_of(const fs::path& folder, std::array<const char*, 2> names) {
  fs::path found = find_one_of(folder, names);
  if (found.empty())
    fail(Category::data,
         "{}: contains neither {} nor {}; get GPT-2's own vocabulary files, or its tokenizer.json",
         folder.string(), names[0], names[1]);
  return found;
}

// Reads the merges line by line. A first line "#version: 0.2" is skipped.
std::unordered_map<uint64_t, BpeMerge> read_merges(const fs::path& path, MergeTable merges) {
  std::string text = InputFile(path).read_text(max_vocabulary_bytes), line;
  int64_t number = 0;
  for (char c : text + "\n") {
    if (c != '\n') {
      line += c;
      continue;
    }
    ++number;
    if (line.ends_with('\r')) line.pop_back();
    if (!line.empty() && !(number == 1 && line.starts_with("#version"))) {
      size_t space = line.find(' ');
      std::optional<std::string> wrong = "expected two tokens with a space between";
      if (space != line.npos && line.find(' ', space + 1) == line.npos)
        wrong = merges.add(line.substr(0, space), line.substr(space + 1));
      if (wrong)
        fail(Category::data, "{}:{}: {}; get both files from the same source", path.string(),
             number, *wrong);
    }
    line.clear();
  }
  return merges.take();
}

BpeTables read_two_files(const fs::path& folder) {
  fs::path tokens_path = one_of(folder, tokens_names);
  fs::path merges_path = one_of(folder, merges_names);
  std::vector<std::string> tokens =
      tokens_by_id(read_json_object(tokens_path, "tokens and ids"), tokens_path);
  std::vector<bool> whole(tokens.size(), false);
  BpeTables tables = tables_of(tokens, whole, tokens_path);
  auto end = std::ranges::find(tokens, end_of_text);
  if (end != tokens.end())
    tables.special[0].add({*end, static_cast<int32_t>(end - tokens.begin())});
  tables.merges = read_merges(merges_path, MergeTable(tokens, whole));
  return tables;
}

std::vector<SpecialToken> all_special(const BpeTables& tables) {
  std::vector<SpecialToken> all = tables.special[0].all();
  for (SpecialToken& token : tables.special[1].all()) all.push_back(std::move(token));
  std::ranges::sort(all, {}, &SpecialToken::text);
  return all;
}

// Returns how the vocabularies differ; empty if they do not.
std::string difference(const BpeTables& json, const BpeTables& files) {
  if (json.bytes.size() != files.bytes.size())
    return fmt::format("{} and {} tokens", json.bytes.size(), files.bytes.size());
  auto token = std::ranges::mismatch(json.bytes, files.bytes).in1;
  if (token != json.bytes.end())
    return fmt::format("token {} is not the same", token - json.bytes.begin());
  if (json.merges != files.merges) return "their merges are not the same";
  if (all_special(json) != all_special(files)) return "their special tokens are not the same";
  return "";
}

}  // namespace

void SpecialTokens::add(SpecialToken token) {
  std::vector<SpecialToken>& tokens = by_first_byte_[static_cast<uint8_t>(token.text[0])];
  auto shorter = std::ranges::find_if(
      tokens, [&](const SpecialToken& other) { return other.text.size() < token.text.size(); });
  tokens.insert(shorter, std::move(token));
}

std::optional<SpecialTokens::Match> SpecialTokens::find(std::string_view text) const {
  for (size_t at = 0; at < text.size(); ++at)
    for (const SpecialToken& token : by_first_byte_[static_cast<uint8_t>(text[at])])
      if (text.substr(at).starts_with(token.text)) return Match{at, &token};
  return {};
}

std::vector<SpecialToken> SpecialTokens::all() const {
  std::vector<SpecialToken> tokens;
  for (const auto& each : by_first_byte_) tokens.insert(tokens.end(), each.begin(), each.end());
  std::ranges::sort(tokens, {}, &SpecialToken::text);
  return tokens;
}

nlohmann::json read_json_object(const fs::path& path, const char* what) {
  nlohmann::json object =
      nlohmann::json::parse(InputFile(path).read_text(max_vocabulary_bytes), nullptr, false);
  if (!object.is_object() || object.empty())
    fail(Category::data, "{}: is not a JSON object of {}; get an intact copy", path.string(), what);
  return object;
}

std::vector<std::string> tokens_by_id(const nlohmann::json& object, const fs::path& path) {
  std::vector<std::string> tokens(object.size());
  for (const auto& [token, id] : object.items()) {
    if (!id.is_number_integer() || id < 0 || id >= tokens.size() || token.empty() ||
        !tokens[id.get<size_t>()].empty())
      fail(Category::data, "{}: token '{}': id {}, expected each of 0 to {} once", path.string(),
           token, id.is_structured() ? id.type_name() : id.dump(), tokens.size() - 1);
    tokens[id.get<size_t>()] = token;
  }
  return tokens;
}

std::optional<std::string> bytes_of_token(const std::string& token) {
  static const std::unordered_map<char32_t, char> alphabet = byte_alphabet();
  std::string bytes;
  for (size_t at = 0; at < token.size();) {
    std::optional<char32_t> code = next_code(token, at);
    auto found = code ? alphabet.find(*code) : alphabet.end();
    if (found == alphabet.end()) return {};
    bytes += found->second;
  }
  return bytes;
}

BpeTables tables_of(const std::vector<std::string>& tokens, const std::vector<bool>& whole,
                    const fs::path& path) {
  BpeTables tables;
  tables.ids_of_bytes.fill(-1);
  for (const std::string& token : tokens) {
    size_t id = tables.bytes.size();
    std::optional<std::string> bytes = whole[id] ? token : bytes_of_token(token);
    if (!bytes)
      fail(Category::data,
           "{}: token '{}': a character that does not stand for a byte; get GPT-2's files",
           path.string(), token);
    if (bytes->size() == 1 && !whole[id])
      tables.ids_of_bytes[static_cast<uint8_t>(bytes->front())] = static_cast<int32_t>(id);
    tables.bytes.push_back(*std::move(bytes));
  }
  // With a token for each byte any text can be encoded.
  auto missing = std::ranges::find(tables.ids_of_bytes, -1);
  if (missing != tables.ids_of_bytes.end())
    fail(Category::data, "{}: has no token for byte {}; get an intact copy", path.string(),
         missing - tables.ids_of_bytes.begin());
  return tables;
}

MergeTable::MergeTable(const std::vector<std::string>& tokens, const std::vector<bool>& whole) {
  for (size_t id = 0; id < tokens.size(); ++id)
    if (!whole[id]) ids_.emplace(tokens[id], static_cast<int32_t>(id));
}

std::optional<std::string> MergeTable::add(const std::string& left, const std::string& right) {
  std::array<int32_t, 3> ids{};
  std::array<std::string, 3> tokens = {left, right, left + right};
  for (size_t i = 0; i < 3; ++i) {
    auto found = ids_.find(tokens[i]);
    if (found == ids_.end()) return fmt::format("'{}' is not a token of the vocabulary", tokens[i]);
    ids[i] = found->second;
  }
  BpeMerge merge = {static_cast<int32_t>(merges_.size()), ids[2]};
  if (!merges_.emplace(pair_key(ids[0], ids[1]), merge).second) return "this merge is given twice";
  return {};
}

std::unordered_map<uint64_t, BpeMerge> MergeTable::take() {
  return std::move(merges_);
}

BpeTables read_bpe_tables(const fs::path& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) {
    fs::path file = find_input(path);
    if (file.empty())
      fail(Category::data,
           "{}: no such file or folder; set data.tokens.bpe_path to the folder of encoder.json and "
           "vocab.bpe, or to a tokenizer.json",
           path.string());
    return read_tokenizer_json(file);
  }
  fs::path json = find_input(path / "tokenizer.json");
  if (json.empty()) return read_two_files(path);
  BpeTables tables = read_tokenizer_json(json);
  fs::path tokens = find_one_of(path, tokens_names);
  if (tokens.empty() || find_one_of(path, merges_names).empty()) return tables;
  if (std::string what = difference(tables, read_two_files(path)); !what.empty())
    fail(Category::data,
         "{}: is not the vocabulary of {} beside it: {}; set data.tokens.bpe_path to this file, or "
         "to a folder without it",
         json.string(), tokens.filename().string(), what);
  return tables;
}

}  // namespace spire
