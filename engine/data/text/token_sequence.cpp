#include "engine/data/text/token_sequence.h"

#include <algorithm>
#include <utility>

#include <spire/error.h>

namespace spire::inline data {
namespace {

class ShardSequence : public TokenSequence {
 public:
  explicit ShardSequence(std::vector<TokenShard> shards) : shards_(std::move(shards)) {
    int64_t end = 0;
    for (const TokenShard& shard : shards_) ends_.push_back(end += shard.count());
  }

  int64_t count() const override { return ends_.empty() ? 0 : ends_.back(); }

  void verify() const override {
    for (const TokenShard& shard : shards_) shard.verify();
  }

  std::vector<std::string> layout() const override {
    std::vector<std::string> lines;
    for (const TokenShard& shard : shards_)
      lines.push_back(fmt::format("{}: {} tokens of {} bytes", shard.path().filename().string(),
                                  shard.count(), shard.element_bytes()));
    return lines;
  }

  std::vector<std::filesystem::path> files() const override {
    std::vector<std::filesystem::path> paths;
    for (const TokenShard& shard : shards_) paths.push_back(shard.path());
    return paths;
  }

  void read(int64_t first, std::span<int32_t> out) const override {
    auto end = std::ranges::upper_bound(ends_, first);
    for (; !out.empty(); ++end) {
      require(end != ends_.end(), "tokens up to {} of {}", first + std::ssize(out), count());
      const TokenShard& shard = shards_[static_cast<size_t>(end - ends_.begin())];
      int64_t part = std::min<int64_t>(*end - first, std::ssize(out));
      shard.read(shard.count() - (*end - first), out.first(static_cast<size_t>(part)));
      out = out.subspan(static_cast<size_t>(part));
      first += part;
    }
  }

 private:
  std::vector<TokenShard> shards_;
  std::vector<int64_t> ends_;  // of each shard in the sequence
};

template <typename T>
class MemorySequence : public TokenSequence {
 public:
  MemorySequence(std::span<const int32_t> ids, std::vector<std::filesystem::path> files)
      : files_(std::move(files)) {
    ids_.reserve(ids.size());
    for (int32_t id : ids) ids_.push_back(static_cast<T>(id));
  }

  int64_t count() const override { return std::ssize(ids_); }
  std::vector<std::filesystem::path> files() const override { return files_; }

  void read(int64_t first, std::span<int32_t> out) const override {
    require(first >= 0 && first + std::ssize(out) <= count(), "tokens {} to {} of {}", first,
            first + std::ssize(out), count());
    std::copy_n(ids_.begin() + first, out.size(), out.begin());
  }

 private:
  std::vector<T> ids_;
  std::vector<std::filesystem::path> files_;
};

}  // namespace

std::unique_ptr<TokenSequence> sequence_of(std::vector<TokenShard> shards) {
  return std::make_unique<ShardSequence>(std::move(shards));
}

std::unique_ptr<TokenSequence> sequence_of(std::span<const int32_t> ids, int64_t vocabulary,
                                           std::vector<std::filesystem::path> files) {
  if (vocabulary <= int64_t{1} << 16)
    return std::make_unique<MemorySequence<uint16_t>>(ids, std::move(files));
  return std::make_unique<MemorySequence<int32_t>>(ids, std::move(files));
}

}  // namespace spire::inline data
