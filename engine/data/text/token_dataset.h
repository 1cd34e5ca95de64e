// A dataset of windows of a long token sequence. Columns: tokens i32 (T), and targets i32 (T), the
// token after each; T = data.tokens.length.
#pragma once
#include <memory>

#include "engine/data/dataset.h"
#include "engine/data/text/token_shard.h"

namespace spire::inline data {

// A long sequence of token ids, in files or in memory. Any thread may read.
class TokenSequence {
 public:
  virtual ~TokenSequence() = default;

  virtual int64_t count() const = 0;
  // Reads the ids from `first` on. Throws Error(data) for a broken one.
  virtual void read(int64_t first, std::span<int32_t> out) const = 0;
  // Reads all files that have checksums. Throws Error(data) for the first wrong one.
  virtual void verify() const {}
  virtual std::vector<std::string> layout() const { return {}; }  // one line per file
  virtual std::vector<std::filesystem::path> files() const = 0;
};

// Returns the concatenation of shards.
std::unique_ptr<TokenSequence> sequence_of(std::vector<TokenShard> shards);

// Copies ids, each in [0, vocabulary), into memory: two bytes each where that is enough. `files`
// are those they were read from.
std::unique_ptr<TokenSequence> sequence_of(std::span<const int32_t> ids, int64_t vocabulary,
                                           std::vector<std::filesystem::path> files = {});

// Window i holds T + 1 tokens from offset + i * T on: neighbours share one token.
class TokenDataset : public Dataset {
 public:
  enum class Offset { none, by_epoch };  // by_epoch: in [0, T), a function of (seed, epoch)

  // Throws Error(data) where the sequence is too short for one window: T + 1 tokens, by_epoch 2 T.
  TokenDataset(std::unique_ptr<TokenSequence> sequence, int64_t length, Offset offset,
               uint64_t seed, const std::string& vocabulary, int64_t vocabulary_size);

  const SampleSpec& spec() const override { return spec_; }
  int64_t count() const override { return count_; }
  void read(std::span<const int64_t> samples, int64_t epoch,
            std::span<std::byte* const> columns) const override;
  void verify_files() const override { sequence_->verify(); }
  std::vector<std::string> layout() const override { return sequence_->layout(); }
  std::vector<std::filesystem::path> files() const override { return sequence_->files(); }
  int64_t offset(int64_t epoch) const;

 private:
  std::unique_ptr<TokenSequence> sequence_;
  int64_t length_, count_;
  Offset offset_;
  uint64_t seed_;
  SampleSpec spec_;
};

// Opens the dataset `tokens`. With data.tokens.text it splits the text into training and, at its
// end, test; else it reads the shards train_NNNN.tokens and val_NNNN.tokens in the folder
// data.path. The file vocabulary.txt beside the shards may describe their vocabulary, as
// make_vocabulary() reads it.
DatasetPair open_tokens(const DataConfig& config, const ReadOptions& options);

}  // namespace spire::inline data
