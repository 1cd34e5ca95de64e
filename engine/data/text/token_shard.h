// Token ids in a file that stays open, read where they are asked for. docs/formats.md describes the
// bytes: a header of 64, then the ids, all little-endian.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/data/change_detection.h"

namespace spire::inline data {

class TokenShard {
 public:
  // Reads the header. Throws Error(data), naming file and byte, for what is no shard, or whose size
  // is not what its header says.
  explicit TokenShard(const std::filesystem::path& path);

  int64_t count() const { return count_; }  // of tokens, >= 1
  int64_t element_bytes() const { return element_bytes_; }
  int64_t vocabulary() const { return vocabulary_; }  // ids are in [0, vocabulary)
  const std::filesystem::path& path() const { return file_->path(); }

  // The ids from `first` on; any thread may call, nothing is allocated. Throws Error(data), naming
  // file and token, for one that is none of the vocabulary: large files are not read through when
  // they are opened. Throws FileChanged where the file was written since then.
  void read(int64_t first, std::span<int32_t> out) const;

  // Reads all. Throws Error(data) where the checksum or an id is wrong.
  void verify() const;

 private:
  template <typename T>
  void read_ids(int64_t first, std::span<int32_t> out) const;

  std::unique_ptr<ChangeDetectingReader> file_;
  int64_t element_bytes_ = 0, count_ = 0, vocabulary_ = 0;
  uint64_t checksum_ = 0;
};

// Writes the file as a whole, or leaves an old one as it was: two bytes a token where the
// vocabulary allows it, else four. Ids must be in [0, vocabulary).
void write_token_shard(const std::filesystem::path& path, std::span<const int32_t> tokens,
                       int64_t vocabulary);

// "train_0003.tokens"
std::filesystem::path token_shard_name(const std::string& split, int64_t number);

// <split>_0000.tokens, <split>_0001.tokens, ... in their order. Throws Error(data) when there is
// none, when one between is missing, and when their vocabularies differ in size.
std::vector<TokenShard> open_token_shards(const std::filesystem::path& folder,
                                          const std::string& split);

}  // namespace spire::inline data
