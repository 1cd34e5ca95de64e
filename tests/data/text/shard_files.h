// Writer of token shards to memory, for tests.
#pragma once
#include <cstring>

#include "engine/base/hash.h"
#include "tests/data/test_files.h"

namespace spire {

template <typename T>
void put(Bytes& bytes, T value) {
  for (size_t i = 0; i < sizeof(T); ++i) bytes.push_back(static_cast<uint8_t>(value >> (8 * i)));
}

// Returns a shard in the format of docs/formats.md, with ids of type T.
template <typename T>
Bytes shard_bytes(const std::vector<T>& ids, uint64_t vocabulary) {
  Bytes body, bytes = {'S', 'P', 'I', 'R', 'E', 'T', 'O', 'K'};
  for (T id : ids) put(body, id);
  put<uint32_t>(bytes, 1);
  put<uint32_t>(bytes, sizeof(T));
  put<uint64_t>(bytes, ids.size());
  put<uint64_t>(bytes, vocabulary);
  put<uint64_t>(bytes, hash64(body.data(), body.size()));
  bytes.resize(64);
  bytes.insert(bytes.end(), body.begin(), body.end());
  return bytes;
}

// Returns begin, begin + 1, ... (count), modulo `modulus`.
inline std::vector<int32_t> counted(int64_t count, int64_t begin = 0, int64_t modulus = 1 << 20) {
  std::vector<int32_t> ids;
  for (int64_t i = 0; i < count; ++i) ids.push_back(static_cast<int32_t>((begin + i) % modulus));
  return ids;
}

}  // namespace spire
