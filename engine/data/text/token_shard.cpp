// Reads and writes token shards (docs/formats.md).
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "engine/base/fail.h"
#include "engine/base/hash.h"
#include "engine/base/read_file.h"
#include "engine/base/write_file.h"
#include "engine/data/text/token_dataset.h"

namespace spire {
namespace {

namespace fs = std::filesystem;

static_assert(std::endian::native == std::endian::little);

// The first bytes of the file, in its own layout.
struct ShardHeader {
  std::array<char, 8> magic = {'S', 'P', 'I', 'R', 'E', 'T', 'O', 'K'};
  uint32_t format = 1;
  uint32_t element_bytes = 0;
  uint64_t count = 0;
  uint64_t vocabulary = 0;
  uint64_t checksum = 0;  // hash64 of the ids' bytes
  std::array<char, 24> reserved = {};
};
static_assert(sizeof(ShardHeader) == 64);

constexpr size_t verified_part = 1 << 20;  // of one read by verify()
constexpr uint64_t max_vocabulary = uint64_t{1} << 31;

[[noreturn]] void refuse(const fs::path& path, const std::string& what) {
  fail(Category::data, "{}: {}; get an intact copy", path.string(), what);
}

// Reads and checks each field of the header.
ShardHeader read_header(const ChangeDetectingReader& file) {
  ShardHeader header;
  if (file.bytes() < sizeof(header))
    refuse(file.path(), fmt::format("truncated: ends at byte {}, within the header of {}",
                                    file.bytes(), sizeof(header)));
  file.read(0, std::as_writable_bytes(std::span(&header, 1)));
  if (header.magic != ShardHeader{}.magic)
    refuse(file.path(), "is not a token shard: bytes 0-7 are not SPIRETOK");
  if (header.format != 1)
    fail(Category::data,
         "{}: byte 8: format {}, but this version of Spire reads format 1; use a newer version",
         file.path().string(), header.format);
  if (header.element_bytes != 2 && header.element_bytes != 4)
    refuse(file.path(),
           fmt::format("byte 12: {} bytes per token, expected 2 or 4", header.element_bytes));
  uint64_t most = header.element_bytes == 2 ? uint64_t{1} << 16 : max_vocabulary;
  if (header.vocabulary < 1 || header.vocabulary > most)
    refuse(file.path(),
           fmt::format("byte 24: a vocabulary of {}, expected 1 to {}", header.vocabulary, most));
  if (header.reserved != ShardHeader{}.reserved)
    refuse(file.path(), "bytes 40-63: not zero, as they are in this format");
  return header;
}

// Throws where the file is not header and ids, exactly.
void check_size(const ChangeDetectingReader& file, const ShardHeader& header) {
  uint64_t there = file.bytes() - sizeof(ShardHeader);
  if (header.count == 0) refuse(file.path(), "byte 16: contains no tokens");
  // Divides: count * element_bytes of a damaged header may overflow.
  if (header.count > there / header.element_bytes)
    refuse(file.path(), fmt::format("truncated: {} tokens of {} bytes are announced, {} bytes "
                                    "follow the header",
                                    header.count, header.element_bytes, there));
  if (header.count * header.element_bytes != there)
    refuse(file.path(),
           fmt::format("byte {}: data beyond the {} announced tokens",
                       sizeof(ShardHeader) + header.count * header.element_bytes, header.count));
}

// Returns the ids as T.
template <typename T>
std::vector<T> narrowed(std::span<const int32_t> tokens, int64_t vocabulary) {
  std::vector<T> ids;
  ids.reserve(tokens.size());
  for (int32_t token : tokens) {
    require(token >= 0 && token < vocabulary, "token {} of a vocabulary of {}", token, vocabulary);
    ids.push_back(static_cast<T>(token));
  }
  return ids;
}

template <typename T>
void write_ids(const fs::path& path, std::span<const int32_t> tokens, int64_t vocabulary) {
  std::vector<T> ids = narrowed<T>(tokens, vocabulary);
  std::string_view body(reinterpret_cast<const char*>(ids.data()), ids.size() * sizeof(T));
  ShardHeader header;
  header.element_bytes = sizeof(T);
  header.count = ids.size();
  header.vocabulary = static_cast<uint64_t>(vocabulary);
  header.checksum = hash64(body.data(), body.size());
  std::array<std::string_view, 2> parts = {
      std::string_view(reinterpret_cast<const char*>(&header), sizeof(header)), body};
  write_file_atomically(path, parts, Category::data);
}

// Returns how many shards of the split the folder has, whatever their numbers: a gap in the numbers
// shows as a missing file.
int64_t count_shards(const fs::path& folder, const std::string& split) {
  int64_t count = 0;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    std::string name = entry.path().filename().string();
    count += name.starts_with(split + "_") && name.ends_with(".tokens") ? 1 : 0;
  }
  if (error)
    fail(Category::data,
         "{}: cannot be listed: {}; set data.path to the folder of the token shards",
         folder.string(), error.message());
  return count;
}

}  // namespace

TokenShard::TokenShard(const fs::path& path)
    : file_(std::make_unique<ChangeDetectingReader>(path)) {
  ShardHeader header = read_header(*file_);
  check_size(*file_, header);
  element_bytes_ = header.element_bytes;
  count_ = static_cast<int64_t>(header.count);
  vocabulary_ = static_cast<int64_t>(header.vocabulary);
  checksum_ = header.checksum;
}

void TokenShard::read(int64_t first, std::span<int32_t> out) const {
  require(first >= 0 && first + std::ssize(out) <= count_, "{}: tokens {} to {} of {}",
          path().string(), first, first + std::ssize(out), count_);
  if (element_bytes_ == 2) {
    read_ids<uint16_t>(first, out);
  } else {
    read_ids<uint32_t>(first, out);
  }
}

// Reads the stored ids into the end of `out` and widens them from the front. sizeof(T) <= 4, so the
// place of id i never reaches a stored id behind i: no further memory is needed.
template <typename T>
void TokenShard::read_ids(int64_t first, std::span<int32_t> out) const {
  std::span<std::byte> stored = std::as_writable_bytes(out).last(out.size() * sizeof(T));
  uint64_t place = sizeof(ShardHeader) + static_cast<uint64_t>(first) * sizeof(T);
  file_->read(place, stored);
  for (size_t i = 0; i < out.size(); ++i) {
    T id = 0;
    std::memcpy(&id, stored.data() + i * sizeof(T), sizeof(T));
    if (id >= static_cast<uint64_t>(vocabulary_))
      refuse(path(), fmt::format("byte {}: token {} has the id {}, the vocabulary ends at {}",
                                 place + i * sizeof(T), first + static_cast<int64_t>(i), id,
                                 vocabulary_ - 1));
    out[i] = static_cast<int32_t>(id);
  }
}

// Checks the checksum first: a damaged file is reported as such, not by one of its ids.
void TokenShard::verify() const {
  Hash64 hash;
  std::vector<std::byte> part(verified_part);
  for (uint64_t at = sizeof(ShardHeader); at < file_->bytes(); at += part.size()) {
    part.resize(std::min<uint64_t>(part.size(), file_->bytes() - at));
    file_->read(at, part);
    hash.add(part.data(), part.size());
  }
  if (hash.value() != checksum_)
    refuse(path(), fmt::format("the checksum of its tokens is {}, the header says {}",
                               hex(hash.value()), hex(checksum_)));
  std::vector<int32_t> ids(verified_part / sizeof(int32_t));
  for (int64_t first = 0; first < count_; first += std::ssize(ids))
    read(first, std::span(ids).first(
                    static_cast<size_t>(std::min<int64_t>(std::ssize(ids), count_ - first))));
}

void write_token_shard(const fs::path& path, std::span<const int32_t> tokens, int64_t vocabulary) {
  require(!tokens.empty(), "{}: a shard without tokens", path.string());
  if (vocabulary <= int64_t{1} << 16) {
    write_ids<uint16_t>(path, tokens, vocabulary);
  } else {
    write_ids<uint32_t>(path, tokens, vocabulary);
  }
}

fs::path token_shard_name(const std::string& split, int64_t number) {
  return fmt::format("{}_{:04}.tokens", split, number);
}

std::vector<TokenShard> open_token_shards(const fs::path& folder, const std::string& split) {
  int64_t count = count_shards(folder, split);
  if (count == 0)
    fail(Category::data, "{}: contains no {}; set data.path to the folder of the token shards",
         folder.string(), token_shard_name(split, 0).string());
  std::vector<TokenShard> shards;
  for (int64_t number = 0; number < count; ++number) {
    fs::path path = folder / token_shard_name(split, number);
    if (!is_there(path))
      fail(Category::data, "{}: is missing, of {} shards; get all of them", path.string(), count);
    shards.emplace_back(path);
    if (shards.back().vocabulary() != shards[0].vocabulary())
      fail(Category::data, "{}: has a vocabulary of {}, but {} has {}; use shards of one set",
           path.string(), shards.back().vocabulary(), shards[0].path().string(),
           shards[0].vocabulary());
  }
  return shards;
}

}  // namespace spire
