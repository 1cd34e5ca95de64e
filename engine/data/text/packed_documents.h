// Dataset of documents packed into rows of T = data.tokens.length tokens. Each epoch has the
// documents in another order, which is a function of (seed, epoch), one after another; row i has
// T tokens from i * T on. Columns: tokens i32 (T); targets i32 (T), the token that follows each;
// positions i32 (T), the place of each token in its document's part of the row.
//
// A document begins with its separator. So the target of a document's last token is the separator
// of the next document, in the row or after it, and the target of a separator is the first token of
// its document: every token is a target once, and none depends on the text of another document.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/data/text/token_dataset.h"

namespace spire {

struct TokenDocument {
  int64_t begin, length;  // in tokens of a sequence

  bool operator==(const TokenDocument&) const = default;
};
using TokenDocuments = std::vector<TokenDocument>;

// Cuts a sequence ahead of each separator. Throws Error(data) if it has none.
TokenDocuments find_documents(const TokenSequence& sequence, int32_t separator);

// Moves the documents from the one at or behind `begin` on to the result, at least the last one.
// Throws Error(data) if there is only one.
TokenDocuments take_last_documents(TokenDocuments& documents, int64_t begin);

// Moves round(share * n) of n documents to the result, the same for any seed. Throws Error(config)
// if none would be left, or taken.
TokenDocuments hold_out_documents(TokenDocuments& documents, double share);

// Returns the first index at which a row of `positions` is neither 0 nor one more than the position
// before; at index 0 it must be 0. nullopt: the row is one of packed documents.
std::optional<int64_t> misplaced_token(std::span<const int32_t> positions);

class PackedDocuments : public Dataset {
 public:
  enum class Order { stored, by_epoch };

  // length: T. Throws Error(data) for fewer tokens than T + 1.
  PackedDocuments(std::shared_ptr<const TokenSequence> sequence, TokenDocuments documents,
                  int64_t length, Order order, uint64_t seed, const std::string& vocabulary,
                  int64_t vocabulary_size);

  const SampleSpec& spec() const override { return spec_; }
  int64_t count() const override { return count_; }
  void read(std::span<const int64_t> samples, int64_t epoch,
            std::span<std::byte* const> columns) const override;
  std::vector<std::filesystem::path> files() const override { return sequence_->files(); }
  std::vector<std::string> layout() const override { return sequence_->layout(); }
  void verify_files() const override { sequence_->verify(); }

 private:
  // The documents of an epoch, by their index, and where each begins among its tokens.
  struct EpochOrder {
    int64_t epoch = -1;
    std::vector<int64_t> documents, begins;
  };
  std::shared_ptr<const EpochOrder> order_of(int64_t epoch) const;
  EpochOrder make_order(int64_t epoch) const;
  void read_row(const EpochOrder& order, int64_t first, std::span<int32_t> tokens,
                std::span<int32_t> positions) const;

  std::shared_ptr<const TokenSequence> sequence_;
  TokenDocuments documents_;
  int64_t length_, count_ = 0;
  Order order_;
  uint64_t seed_;
  SampleSpec spec_;
  // Orders of the two newest epochs, as readers may be in both at once. A cache only.
  mutable std::mutex mutex_;
  mutable std::array<std::shared_ptr<const EpochOrder>, 2> orders_;
};

}  // namespace spire
