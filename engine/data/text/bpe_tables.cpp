// Makes the tables of a vocabulary from its tokens and merges, whatever file they come from.
#include "engine/data/text/bpe_tables.h"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include <spire/error.h>

#include "engine/data/input_file.h"
#include "engine/data/text/vocabulary.h"

namespace spire::inline data {
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

}  // namespace spire::inline data
