// Reads a tokenizer.json of Hugging Face's tokenizers that encodes as GPT-2 does: a model of type
// BPE with ByteLevel before and behind it. Whatever else the file asks for is refused.
#include <algorithm>
#include <string_view>
#include <unordered_set>
#include <utility>

#include <nlohmann/json.hpp>

#include "engine/base/fail.h"
#include "engine/data/text/bpe_tables.h"
#include "engine/data/text/vocabulary.h"

namespace spire {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

// GPT-2's pattern, and as tiktoken writes the same.
constexpr std::array split_patterns = {
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)",
    R"('(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)"};

// Returns a member, or null where there is none.
const Json& member(const Json& object, const char* key) {
  static const Json none;
  auto found = object.is_object() ? object.find(key) : object.end();
  return object.is_object() && found != object.end() ? *found : none;
}

// Returns true for the values that turn an option off, as if it were not there.
bool is_off(const Json& value) {
  return value.is_null() || value == false || value == "" || value == 0 ||
         (value.is_structured() && value.empty());
}

// Returns a value for a message: of an object its "type", if it has one.
std::string shown(const Json& value) {
  if (member(value, "type").is_string()) return value["type"].get<std::string>();
  if (value.is_structured()) return value.type_name();
  std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  return text.size() <= 100 ? text : text.substr(0, 100) + "...";
}

class TokenizerReader {
 public:
  explicit TokenizerReader(fs::path path)
      : path_(std::move(path)), root_(read_json_object(path_, "a tokenizer")) {}

  BpeTables read() {
    // Padding and truncation are about samples, whose length is data.tokens.length.
    check_off(root_, "",
              {"version", "truncation", "padding", "added_tokens", "pre_tokenizer",
               "post_processor", "decoder", "model"});
    check_model();
    check_pre_tokenizer();
    check_byte_level("decoder", false);
    check_byte_level("post_processor", true);
    read_tokens();
    BpeTables tables = tables_of(tokens_, whole_, path_);
    tables.special = std::move(special_);
    tables.merges = read_merges();
    return tables;
  }

 private:
  [[noreturn]] void damaged(const std::string& where, const std::string& what) const {
    fail(Category::data, "{}: {}: {}; get an intact copy", path_.string(), where, what);
  }

  [[noreturn]] void unsupported(const std::string& where, const std::string& what) const {
    fail(Category::data,
         "{}: {}: {} is not supported: only what GPT-2's tokenizer does is; get a GPT-2's file, or "
         "give token shards of the text (docs/formats.md)",
         path_.string(), where, what);
  }

  // Refuses every option that is on, but those whose names are known.
  void check_off(const Json& object, const std::string& prefix,
                 const std::vector<std::string>& known) const {
    for (const auto& [key, value] : object.items())
      if (std::ranges::find(known, key) == known.end() && !is_off(value))
        unsupported(prefix + key, shown(value));
  }

  void check_model() const {
    const Json& model = member(root_, "model");
    if (!model.is_object())
      fail(Category::data,
           "{}: model: is not there, so this is no tokenizer.json; for encoder.json and vocab.bpe "
           "set data.tokens.bpe_path to their folder",
           path_.string());
    // Files of 2020 have no type.
    const Json& type = member(model, "type");
    if (!type.is_null() && type != "BPE") unsupported("model.type", shown(type));
    // The unknown token is never needed, as each byte has a token.
    check_off(model, "model.", {"type", "vocab", "merges", "unk_token", "fuse_unk"});
    if (!member(model, "vocab").is_object()) damaged("model.vocab", "is not an object");
    if (!member(model, "merges").is_array()) damaged("model.merges", "is not a list");
  }

  void check_pre_tokenizer() const {
    const Json& pre = member(root_, "pre_tokenizer");
    const Json& list = member(pre, "pretokenizers");
    if (member(pre, "type") != "Sequence") return check_splitting("pre_tokenizer", pre, false);
    bool split = false;
    for (size_t i = 0; i < list.size(); ++i) {
      std::string where = fmt::format("pre_tokenizer.pretokenizers[{}]", i);
      bool last = i + 1 == list.size();
      if (last) return check_splitting(where, list[i], split);
      check_split(where, list[i]);
      split = true;
    }
    damaged("pre_tokenizer.pretokenizers", "is not a list with ByteLevel at its end");
  }

  // `split`: the pattern was applied before; applied to its own matches it changes nothing.
  void check_splitting(const std::string& where, const Json& level, bool split) const {
    if (member(level, "type") != "ByteLevel") unsupported(where, shown(level));
    if (member(level, "add_prefix_space") != false)
      unsupported(where + ".add_prefix_space", shown(member(level, "add_prefix_space")));
    const Json& regex = member(level, "use_regex");
    if (!split && !regex.is_null() && regex != true)
      unsupported(where + ".use_regex", shown(regex));
  }

  void check_split(const std::string& where, const Json& step) const {
    if (member(step, "type") != "Split") unsupported(where, shown(step));
    const Json& regex = member(member(step, "pattern"), "Regex");
    if (std::ranges::find(split_patterns, regex) == split_patterns.end())
      unsupported(where + ".pattern", regex.is_null() ? "what is no Regex" : shown(regex));
    // The pattern's matches cover the text, so that both say the same.
    const Json &behavior = member(step, "behavior"), &invert = member(step, "invert");
    if (!(behavior == "Isolated" && is_off(invert)) && !(behavior == "Removed" && invert == true))
      unsupported(where + ".behavior",
                  fmt::format("{} with invert {}", shown(behavior), shown(invert)));
  }

  void check_byte_level(const char* key, bool optional) const {
    const Json& value = member(root_, key);
    if (!(optional && value.is_null()) && member(value, "type") != "ByteLevel")
      unsupported(key, shown(value));
  }

  // Fills tokens_ and special_; added tokens may be in the model's vocabulary, or follow it.
  void read_tokens() {
    const Json &vocabulary = root_["model"]["vocab"], &added = member(root_, "added_tokens");
    if (!added.is_null() && !added.is_array()) damaged("added_tokens", "is not a list");
    Json all = vocabulary;
    for (size_t i = 0; i < added.size(); ++i) check_added(i, all);
    if (all.empty()) damaged("model.vocab", "is empty");
    tokens_ = tokens_by_id(all, path_);
    whole_.assign(tokens_.size(), false);
    for (const Json& each : added) {
      auto text = each["content"].get<std::string>();
      auto id = each["id"].get<size_t>();
      // A merge may give a token of the model that is an added one too.
      std::optional<std::string> bytes = bytes_of_token(text);
      whole_[id] = !bytes || !vocabulary.contains(text);
      special_[member(each, "normalized") == true ? 1 : 0].add({text, static_cast<int32_t>(id)});
    }
    auto end = vocabulary.find(end_of_text);
    if (end != vocabulary.end() && !is_special(end_of_text))
      special_[0].add({std::string(end_of_text), end->get<int32_t>()});
  }

  // Checks an added token and puts it into `all`.
  void check_added(size_t index, Json& all) {
    const Json& token = root_["added_tokens"][index];
    std::string where = fmt::format("added_tokens[{}]", index);
    const Json &content = member(token, "content"), &id = member(token, "id");
    if (!content.is_string() || content == "" || !id.is_number_integer())
      damaged(where, "has no content and id");
    check_off(token, where + ".", {"id", "content", "normalized", "special"});
    auto text = content.get<std::string>();
    if (!added_.insert(text).second) damaged(where, fmt::format("'{}' is given twice", text));
    auto found = all.find(text);
    if (found == all.end()) {
      all[text] = id;
    } else if (*found != id) {
      damaged(where,
              fmt::format("'{}' has id {}, but {} in model.vocab", text, shown(id), shown(*found)));
    } else if (std::optional<std::string> bytes = bytes_of_token(text); bytes && *bytes != text) {
      unsupported(where, fmt::format("'{}', which model.vocab has for other bytes,", text));
    }
    check_blanks(where, text);
  }

  // A long text is cut before blanks that follow visible characters (end_of_part()).
  void check_blanks(const std::string& where, const std::string& text) const {
    for (size_t at = 1; at < text.size(); ++at)
      if (text[at - 1] > ' ' && text[at - 1] < 0x7f && (text[at] == ' ' || text[at] == '\n'))
        unsupported(where, fmt::format("'{}', with a blank within,", text));
  }

  bool is_special(std::string_view text) const { return added_.contains(std::string(text)); }

  // Merges are "left right", or ["left", "right"] in files of 2024 and later.
  std::unordered_map<uint64_t, BpeMerge> read_merges() const {
    MergeTable table(tokens_, whole_);
    const Json& merges = root_["model"]["merges"];
    for (size_t i = 0; i < merges.size(); ++i) {
      const Json& merge = merges[i];
      std::optional<std::string> wrong = "expected two tokens";
      if (merge.is_string()) {
        auto text = merge.get<std::string>();
        if (i == 0 && text.starts_with("#version")) continue;
        size_t space = text.find(' ');
        if (space != text.npos && text.find(' ', space + 1) == text.npos)
          wrong = table.add(text.substr(0, space), text.substr(space + 1));
      } else if (merge.is_array() && merge.size() == 2 && merge[0].is_string() &&
                 merge[1].is_string()) {
        wrong = table.add(merge[0].get<std::string>(), merge[1].get<std::string>());
      }
      if (wrong) damaged(fmt::format("model.merges[{}]", i), *wrong);
    }
    return table.take();
  }

  fs::path path_;
  Json root_;
  std::vector<std::string> tokens_;  // by id
  std::vector<bool> whole_;          // by id: found as a whole only, never made by merges
  std::unordered_set<std::string> added_;
  std::array<SpecialTokens, 2> special_;
};

}  // namespace

BpeTables read_tokenizer_json(const fs::path& path) {
  return TokenizerReader(path).read();
}

}  // namespace spire
