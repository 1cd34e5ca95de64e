// Token ids in a file: a header of 64 bytes, then the ids, all little-endian (docs/formats.md).
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/data/steady_file.h"

namespace spire::inline data {

// A shard whose file stays open; ids are read on demand.
class TokenShard {
 public:
  // Reads the header. Throws Error(data), naming file and byte, where the file is no shard or its
  // size is not the one that its header announces.
  explicit TokenShard(const std::filesystem::path& path);

  int64_t count() const { return count_; }  // tokens, >= 1
  int64_t element_bytes() const { return element_bytes_; }
  int64_t vocabulary() const { return vocabulary_; }  // ids are in [0, vocabulary)
  const std::filesystem::path& path() const { return file_->path(); }

  // Reads the ids from `first` on. Any thread may call it; it allocates nothing. Throws
  // Error(data), naming file and token, for an id outside of the vocabulary (the constructor does
  // not read the ids), and FileChanged where the file was written meanwhile.
  void read(int64_t first, std::span<int32_t> out) const;

  // Reads the whole file. Throws Error(data) where the checksum or an id is wrong.
  void verify() const;

 private:
  template <typename T>
  void read_ids(int64_t first, std::span<int32_t> out) const;

  std::unique_ptr<SteadyFile> file_;
  int64_t element_bytes_ = 0, count_ = 0, vocabulary_ = 0;
  uint64_t checksum_ = 0;
};

// Writes a shard atomically: two bytes per token where the vocabulary allows it, else four. Ids
// must be in [0, vocabulary).
void write_token_shard(const std::filesystem::path& path, std::span<const int32_t> tokens,
                       int64_t vocabulary);

// Returns a file name such as "train_0003.tokens".
std::filesystem::path token_shard_name(const std::string& split, int64_t number);

// Opens <split>_0000.tokens, <split>_0001.tokens, ... in order. Throws Error(data) where there is
// none, where a number is missing, and where vocabularies differ in size.
std::vector<TokenShard> open_token_shards(const std::filesystem::path& folder,
                                          const std::string& split);

}  // namespace spire::inline data
