#include "engine/data/text/bpe.h"

#include <limits>
#include <unordered_map>
#include <utility>

#include <spire/error.h>

#include "engine/data/text/bpe_tables.h"
#include "engine/data/text/pretokenizer.h"
#include "engine/data/text/utf8.h"

namespace spire::inline data {
namespace {

namespace fs = std::filesystem;

constexpr size_t max_cached = size_t{1} << 18;  // pieces, in one encode()

class BpeVocabulary : public Vocabulary {
 public:
  BpeVocabulary(fs::path folder, BpeTables tables)
      : folder_(std::move(folder)), tables_(std::move(tables)) {}

  std::string name() const override { return "gpt2"; }
  int64_t size() const override { return std::ssize(tables_.bytes); }
  std::string to_text() const override { return "gpt2:" + folder_.string(); }
  std::vector<int32_t> encode(std::string_view text) const override;
  std::string decode(std::span<const int32_t> ids) const override;

 private:
  using Cache = std::unordered_map<std::string_view, std::vector<int32_t>>;

  void encode_part(std::string_view text, Cache& cache, std::vector<int32_t>& ids) const;
  std::vector<int32_t> encode_piece(std::string_view piece) const;

  fs::path folder_;
  BpeTables tables_;
};

std::vector<int32_t> BpeVocabulary::encode(std::string_view text) const {
  if (std::optional<size_t> at = invalid_utf8(text))
    fail(Category::data,
         "byte {}: is not UTF-8; convert the text, or set data.tokens.vocabulary: bytes", *at);
  std::vector<int32_t> ids;
  Cache cache;
  while (tables_.end_of_text >= 0) {
    size_t end = text.find(end_of_text);
    if (end == text.npos) break;
    encode_part(text.substr(0, end), cache, ids);
    ids.push_back(tables_.end_of_text);
    text.remove_prefix(end + end_of_text.size());
  }
  encode_part(text, cache, ids);
  return ids;
}

void BpeVocabulary::encode_part(std::string_view text, Cache& cache,
                                std::vector<int32_t>& ids) const {
  for (size_t at = 0; at < text.size();) {
    std::string_view piece = piece_at(text, at);
    at += piece.size();
    if (cache.size() >= max_cached) cache.clear();
    auto [entry, added] = cache.try_emplace(piece);
    if (added) entry->second = encode_piece(piece);
    ids.insert(ids.end(), entry->second.begin(), entry->second.end());
  }
}

// As long as there is a pair to merge: all places of the earliest one, from left to right.
std::vector<int32_t> BpeVocabulary::encode_piece(std::string_view piece) const {
  std::vector<int32_t> ids;
  for (char c : piece) ids.push_back(tables_.ids_of_bytes[static_cast<uint8_t>(c)]);
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
           folder_.string(), size() - 1);
    text += tables_.bytes[static_cast<size_t>(id)];
  }
  return text;
}

}  // namespace

std::unique_ptr<Vocabulary> read_bpe(const fs::path& folder) {
  return std::make_unique<BpeVocabulary>(folder, read_bpe_tables(folder));
}

}  // namespace spire::inline data
