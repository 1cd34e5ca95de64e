// Dataset of windows of a long token sequence in shard or text files. Columns: tokens i32 (T), and
// targets i32 (T), the token that follows each token; T = data.tokens.length.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/data/dataset.h"
#include "engine/data/input_file.h"

namespace spire {

// An open shard: a file with a header of 64 bytes, then token ids, little-endian (docs/formats.md).
class TokenShard {
 public:
  // Reads the header. Throws Error(data), naming file and byte, if it does not fit the file.
  explicit TokenShard(const std::filesystem::path& path);

  int64_t count() const { return count_; }  // number of tokens, >= 1
  int64_t element_bytes() const { return element_bytes_; }
  int64_t vocabulary() const { return vocabulary_; }  // its size: ids are in [0, vocabulary)
  const std::filesystem::path& path() const { return file_->path(); }

  // Reads ids from index `first` on, in any thread, without allocations. Throws Error(data), naming
  // file and token, for an id outside of the vocabulary; FileChanged if it was written.
  void read(int64_t first, std::span<int32_t> out) const;

  void verify() const;  // throws Error(data) for a wrong checksum or an invalid id

 private:
  template <typename T>
  void read_ids(int64_t first, std::span<int32_t> out) const;

  std::unique_ptr<ChangeDetectingReader> file_;
  int64_t element_bytes_ = 0, count_ = 0, vocabulary_ = 0;
  uint64_t checksum_ = 0;
};

// Writes a shard atomically, with two bytes per token if enough. Ids must be in [0, vocabulary).
void write_token_shard(const std::filesystem::path& path, std::span<const int32_t> tokens,
                       int64_t vocabulary);

// Returns a file name such as "train_0003.tokens".
std::filesystem::path token_shard_name(const std::string& split, int64_t number);

// Opens <split>_0000.tokens, ... Throws Error(data) for a gap, or if vocabulary sizes differ.
std::vector<TokenShard> open_token_shards(const std::filesystem::path& folder,
                                          const std::string& split);

class TokenSequence {  // a long sequence of token ids, in files or in memory; thread-safe
 public:
  virtual ~TokenSequence() = default;

  virtual int64_t count() const = 0;                                   // number of tokens
  virtual void read(int64_t first, std::span<int32_t> out) const = 0;  // throws Error(data)
  // Verifies the checksums of the files. Throws Error(data) for the first mismatch.
  virtual void verify() const {}
  virtual std::vector<std::string> layout() const { return {}; }  // one line per file
  virtual std::vector<std::filesystem::path> files() const = 0;
};

// Returns the concatenation of the shards.
std::unique_ptr<TokenSequence> sequence_of(std::vector<TokenShard> shards);

// Returns a copy of `ids` in memory; each must be in [0, vocabulary). files: what files() returns.
std::unique_ptr<TokenSequence> sequence_of(std::span<const int32_t> ids, int64_t vocabulary,
                                           std::vector<std::filesystem::path> files = {});

// Window i has the T + 1 tokens from offset + i * T on, so that neighbouring windows share a token.
class TokenDataset : public Dataset {
 public:
  // none: offset 0. by_epoch: an offset in [0, T) that is a function of (seed, epoch).
  enum class Offset { none, by_epoch };

  // length: T. Throws Error(data) for fewer tokens than T + 1, with Offset::by_epoch than 2 T.
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

// Opens the dataset `tokens`: windows, or with data.tokens.documents: packed rows of documents
// (packed_documents.h), of which data.val.share holds out whole ones. Its source is either the text
// and JSONL files of data.tokens.text, the end of which is the test data, or the folder data.path
// with the shards train_NNNN.tokens and val_NNNN.tokens, and with vocabulary.txt, which contains
// the text for make_vocabulary().
DatasetPair open_tokens(const DataConfig& config, const ReadOptions& options);

}  // namespace spire
