// Encodes by GPT-2's byte-pair encoding. A text is split into pretokens and each pretoken into
// bytes; then neighbouring tokens of a pretoken are merged, the merge learnt first before the
// others.
#include <algorithm>
#include <limits>
#include <unordered_map>
#include <utility>

#include "engine/data/text/bpe_tables.h"
#include "engine/data/text/vocabulary.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "engine/base/fail.h"
#include "engine/base/system.h"

namespace spire {
namespace {

namespace fs = std::filesystem;

struct PcreFree {
  void operator()(pcre2_code* code) const { pcre2_code_free(code); }
  void operator()(pcre2_match_data* match) const { pcre2_match_data_free(match); }
};

// PCRE2's own \s takes U+180E for a space, which has lost the property White_Space in Unicode 6.3.
// So the pattern spells the property out: separators, the control characters 9 to 13, and U+0085.
std::string pretokenizer_pattern() {
  const char* space = R"(\p{Z}\x09-\x0d\x85)";
  return fmt::format(
      "'s|'t|'re|'ve|'m|'ll|'d"
      R"(| ?\p{{L}}+| ?\p{{N}}+| ?[^{0}\p{{L}}\p{{N}}]+|[{0}]+(?![^{0}])|[{0}]+)",
      space);
}

std::unique_ptr<pcre2_code, PcreFree> compile(const std::string& pattern) {
  int error = 0;
  PCRE2_SIZE at = 0;
  // PCRE2_UCP: \p{..} are Unicode's classes. ANCHORED: each match begins where the last one ended.
  std::unique_ptr<pcre2_code, PcreFree> code(
      pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                    PCRE2_UTF | PCRE2_UCP | PCRE2_ANCHORED, &error, &at, nullptr));
  require(code != nullptr, "PCRE2 error {} at {} of the pattern {}", error, at, pattern);
  // Machine code where PCRE2 makes it; where it does not, pcre2_match() interprets the pattern.
  pcre2_jit_compile(code.get(), PCRE2_JIT_COMPLETE);
  return code;
}

constexpr size_t max_cached = size_t{1} << 18;  // pretokens, in one encode()

// Encodes by tables; immutable after construction.
class BpeVocabulary : public Vocabulary {
 public:
  BpeVocabulary(fs::path path, BpeTables tables)
      : path_(std::move(path)), tables_(std::move(tables)) {}

  std::string name() const override { return "gpt2"; }
  int64_t size() const override { return std::ssize(tables_.bytes); }
  std::string to_text() const override { return "gpt2:" + path_.string(); }
  std::vector<int32_t> encode(std::string_view text) const override;
  std::string decode(std::span<const int32_t> ids) const override;

 private:
  using Cache = std::unordered_map<std::string_view, std::vector<int32_t>>;

  bool has_token(std::optional<char32_t> code) const override { return code.has_value(); }

  // Encodes a text without the special tokens below `level`; keys of `cache` are views of the text.
  void encode_part(std::string_view text, size_t level, Cache& cache,
                   std::vector<int32_t>& ids) const;
  std::vector<int32_t> encode_pretoken(std::string_view pretoken) const;

  fs::path path_;
  BpeTables tables_;
};

std::vector<int32_t> BpeVocabulary::encode(std::string_view text) const {
  if (std::optional<size_t> at = invalid_utf8(text))
    fail(Category::data,
         "byte {}: is not UTF-8; convert the text, or set data.tokens.vocabulary: bytes", *at);
  std::vector<int32_t> ids;
  Cache cache;
  encode_part(text, 0, cache, ids);
  return ids;
}

void BpeVocabulary::encode_part(std::string_view text, size_t level, Cache& cache,
                                std::vector<int32_t>& ids) const {
  if (level < tables_.special.size()) {
    // A special token separates the texts around it.
    while (auto match = tables_.special[level].find(text)) {
      encode_part(text.substr(0, match->begin), level + 1, cache, ids);
      ids.push_back(match->token->id);
      text.remove_prefix(match->begin + match->token->text.size());
    }
    return encode_part(text, level + 1, cache, ids);
  }
  for_each_pretoken(text, [&](std::string_view pretoken) {
    // Most pretokens of a text are words that have occurred before.
    if (cache.size() >= max_cached) cache.clear();
    auto [entry, added] = cache.try_emplace(pretoken);
    if (added) entry->second = encode_pretoken(pretoken);
    ids.insert(ids.end(), entry->second.begin(), entry->second.end());
  });
}

// Repeats until no pair has a merge: finds the pair of the lowest rank, then merges all its
// occurrences from left to right, in place.
std::vector<int32_t> BpeVocabulary::encode_pretoken(std::string_view pretoken) const {
  std::vector<int32_t> ids;
  for (char c : pretoken) ids.push_back(tables_.ids_of_bytes[static_cast<uint8_t>(c)]);
  while (true) {
    BpeMerge best = {std::numeric_limits<int32_t>::max(), 0};
    uint64_t best_key = 0;
    for (size_t i = 0; i + 1 < ids.size(); ++i) {
      auto found = tables_.merges.find(pair_key(ids[i], ids[i + 1]));
      if (found == tables_.merges.end() || found->second.rank >= best.rank) continue;
      best = found->second;
      best_key = found->first;
    }
    if (best.rank == std::numeric_limits<int32_t>::max()) return ids;
    size_t kept = 0;
    for (size_t i = 0; i < ids.size(); ++kept) {
      bool merge = i + 1 < ids.size() && pair_key(ids[i], ids[i + 1]) == best_key;
      ids[kept] = merge ? best.merged : ids[i];
      i += merge ? 2 : 1;
    }
    ids.resize(kept);
  }
}

std::string BpeVocabulary::decode(std::span<const int32_t> ids) const {
  std::string text;
  for (int32_t id : ids) {
    if (id < 0 || id >= size())
      fail(Category::data, "token {} is not in the vocabulary of {}, which has 0 to {}", id,
           path_.string(), size() - 1);
    text += tables_.bytes[static_cast<size_t>(id)];
  }
  return text;
}

}  // namespace

void for_each_pretoken(std::string_view text, const std::function<void(std::string_view)>& use) {
  static const std::unique_ptr<pcre2_code, PcreFree> code = compile(pretokenizer_pattern());
  std::unique_ptr<pcre2_match_data, PcreFree> match(
      pcre2_match_data_create_from_pattern(code.get(), nullptr));
  require(match != nullptr, "PCRE2 has no memory for a match");
  const auto* data = reinterpret_cast<PCRE2_SPTR>(text.data());
  for (size_t at = 0; at < text.size();) {
    int count =
        pcre2_match(code.get(), data, text.size(), at, PCRE2_NO_UTF_CHECK, match.get(), nullptr);
    require(count > 0, "byte {}: PCRE2 error {}", at, count);
    size_t end = pcre2_get_ovector_pointer(match.get())[1];
    use(text.substr(at, end - at));
    at = end;
  }
}

std::string unicode_version() {
  // Without a buffer pcre2_config() returns the length, with the zero at the end.
  int length = pcre2_config(PCRE2_CONFIG_UNICODE_VERSION, nullptr);
  std::string text(static_cast<size_t>(std::max(length, 1)), '\0');
  pcre2_config(PCRE2_CONFIG_UNICODE_VERSION, text.data());
  text.pop_back();
  return text;
}

std::unique_ptr<Vocabulary> read_bpe(const fs::path& path) {
  return std::make_unique<BpeVocabulary>(path, read_bpe_tables(path));
}

}  // namespace spire
