// A dataset of windows of a long token sequence, in shard files or text files. Columns: tokens i32
// (T), and targets i32 (T), the token after each; T = data.tokens.length.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/data/change_detection.h"
#include "engine/data/dataset.h"

namespace spire::inline data {

// An open file of token ids: a header of 64 bytes, then the ids, little-endian (docs/formats.md).
class TokenShard {
 public:
  // Reads the header. Throws Error(data), naming file and byte, where it does not fit the file.
  explicit TokenShard(const std::filesystem::path& path);

  int64_t count() const { return count_; }  // tokens, >= 1
  int64_t element_bytes() const { return element_bytes_; }
  int64_t vocabulary() const { return vocabulary_; }  // ids are in [0, vocabulary)
  const std::filesystem::path& path() const { return file_->path(); }

  // Reads ids on any thread, without allocations. Throws Error(data), naming file and token, for an
  // id outside of the vocabulary; FileChanged where the file was written meanwhile.
  void read(int64_t first, std::span<int32_t> out) const;

  void verify() const;  // throws Error(data): a wrong checksum or id

 private:
  template <typename T>
  void read_ids(int64_t first, std::span<int32_t> out) const;

  std::unique_ptr<ChangeDetectingReader> file_;
  int64_t element_bytes_ = 0, count_ = 0, vocabulary_ = 0;
  uint64_t checksum_ = 0;
};

// Writes a shard atomically, two bytes a token where enough. Ids must be in [0, vocabulary).
void write_token_shard(const std::filesystem::path& path, std::span<const int32_t> tokens,
                       int64_t vocabulary);

// Returns "train_0003.tokens".
std::filesystem::path token_shard_name(const std::string& split, int64_t number);

// Opens <split>_0000.tokens, ... in order. Throws Error(data) for a gap or another vocabulary size.
std::vector<TokenShard> open_token_shards(const std::filesystem::path& folder,
                                          const std::string& split);

// A long sequence of token ids, in files or in memory. Any thread may read.
class TokenSequence {
 public:
  virtual ~TokenSequence() = default;

  virtual int64_t count() const = 0;
  virtual void read(int64_t first, std::span<int32_t> out) const = 0;  // throws Error(data)
  // Checks the files' checksums. Throws Error(data) for the first wrong one.
  virtual void verify() const {}
  virtual std::vector<std::string> layout() const { return {}; }  // one line per file
  virtual std::vector<std::filesystem::path> files() const = 0;
};

std::unique_ptr<TokenSequence> sequence_of(std::vector<TokenShard> shards);  // concatenated

// Copies ids, each in [0, vocabulary), into memory. `files` are those they were read from.
std::unique_ptr<TokenSequence> sequence_of(std::span<const int32_t> ids, int64_t vocabulary,
                                           std::vector<std::filesystem::path> files = {});

// Window i is the T + 1 tokens from offset + i * T on: neighbours share one token.
class TokenDataset : public Dataset {
 public:
  enum class Offset { none, by_epoch };  // by_epoch: in [0, T), a function of (seed, epoch)

  // Throws Error(data) for less than one window: T + 1 tokens, by_epoch 2 T.
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

// Opens the dataset `tokens`: data.tokens.text, its end as test data, or the shards in data.path:
// train_NNNN.tokens, val_NNNN.tokens, and vocabulary.txt with the text for make_vocabulary().
DatasetPair open_tokens(const DataConfig& config, const ReadOptions& options);

}  // namespace spire::inline data
