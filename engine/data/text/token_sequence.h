// One long row of token ids, wherever they lie.
#pragma once
#include <memory>

#include "engine/data/text/token_shard.h"

namespace spire::inline data {

class TokenSequence {
 public:
  virtual ~TokenSequence() = default;

  virtual int64_t count() const = 0;
  // The ids from `first` on; any thread may call it. Throws Error(data) for a broken one.
  virtual void read(int64_t first, std::span<int32_t> out) const = 0;
  // Of files that have checksums. Throws Error(data) for the first wrong one.
  virtual void verify() const {}
  virtual std::vector<std::string> layout() const { return {}; }  // a line a file
  virtual std::vector<std::filesystem::path> files() const = 0;
};

// The shards one after another.
std::unique_ptr<TokenSequence> sequence_of(std::vector<TokenShard> shards);

// A copy of the ids, each in [0, vocabulary), in two bytes each where that is enough; they were
// read from `files`.
std::unique_ptr<TokenSequence> sequence_of(std::span<const int32_t> ids, int64_t vocabulary,
                                           std::vector<std::filesystem::path> files = {});

}  // namespace spire::inline data
