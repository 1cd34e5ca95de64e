// Fuzz target of token shards: each is read and verified, and once more with a corrected checksum.
#include <cstring>

#include "engine/data/text/token_dataset.h"
#include "tests/data/text/shard_files.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/memory_file.h"

namespace spire::fuzz {
namespace {

int read(const Bytes& bytes) {
  MemoryFile file(bytes.data(), bytes.size());
  return parse_or_refuse(Category::data, [&] {
    TokenShard shard(file.path());
    std::vector<int32_t> ids(static_cast<size_t>(shard.count()));
    shard.read(0, ids);
    for (int32_t id : ids)
      require(id >= 0 && id < shard.vocabulary(), "id {} of {}", id, shard.vocabulary());
    shard.verify();
  });
}

Bytes with_right_checksum(Bytes bytes) {
  constexpr size_t header = 64, checksum = 32;
  if (bytes.size() < header) return bytes;
  uint64_t right = hash64(bytes.data() + header, bytes.size() - header);
  std::memcpy(bytes.data() + checksum, &right, sizeof(right));
  return bytes;
}

}  // namespace

int consume(const uint8_t* data, size_t size) {
  Bytes bytes(data, data + size);
  int as_it_is = read(bytes), with_checksum = read(with_right_checksum(bytes));
  require(as_it_is == refused || with_checksum == accepted, "a right checksum breaks a shard");
  return as_it_is;
}

std::vector<Bytes> seeds() {
  return {shard_bytes<uint16_t>({0, 299, 7}, 300), shard_bytes<uint32_t>({0, 70000, 1, 2}, 70001)};
}

}  // namespace spire::fuzz
