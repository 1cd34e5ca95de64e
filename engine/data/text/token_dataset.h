// Windows of a long sequence of tokens. Columns: tokens (T), and targets (T), the token that
// follows each; T = data.tokens.length.
#pragma once
#include "engine/data/dataset.h"
#include "engine/data/text/token_sequence.h"

namespace spire::inline data {

// Window i holds the tokens from offset + i * T on, T + 1 of them: neighbours share one token.
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

// From data.tokens.text, parted into training and, at its end, test; else from the shards
// train_NNNN.tokens and val_NNNN.tokens in the folder data.path, whose vocabulary the file
// vocabulary.txt beside them may describe (as make_vocabulary() reads it).
DatasetPair open_tokens(const DataConfig& config, const ReadOptions& options);

}  // namespace spire::inline data
