// Reads the two files of a GPT-2 vocabulary, and chooses between them and a tokenizer.json.
#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include <spire/error.h>

#include "engine/data/input_file.h"
#include "engine/data/text/bpe_tables.h"
#include "engine/data/text/vocabulary.h"

namespace spire::inline data {
namespace {

namespace fs = std::filesystem;

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

}  // namespace spire::inline data
