#include "engine/data/formats/idx.h"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include <spire/error.h>

#include "engine/data/input_file.h"

namespace spire::inline data {
namespace {

constexpr uint32_t images_magic = 0x00000803;
constexpr uint32_t labels_magic = 0x00000801;
constexpr uint32_t unsigned_byte = 0x08;

uint32_t read_u32(InputFile& file, uint64_t offset) {
  std::array<uint8_t, 4> b{};
  size_t got = file.read(b);
  if (got < b.size())
    fail(Category::data,
         "{}: truncated: ends at byte {}, within the IDX header; get an intact copy",
         file.path().string(), offset + got);
  return uint32_t{b[0]} << 24 | uint32_t{b[1]} << 16 | uint32_t{b[2]} << 8 | uint32_t{b[3]};
}

std::string_view kind(uint32_t magic) {
  return magic == images_magic ? "images" : "labels";
}

// What is wrong with a magic number, as precisely as it tells.
void check_magic(const InputFile& file, uint32_t magic, uint32_t expected) {
  if (magic == expected) return;
  std::string path = file.path().string();
  uint32_t type = magic >> 8 & 0xff;
  uint32_t rank = magic & 0xff;
  if (magic >> 16 != 0)
    fail(Category::data,
         "{}: not an IDX file: bytes 0-3 are 0x{:08x}, expected 0x{:08x}; get an intact copy", path,
         magic, expected);
  if (type != unsigned_byte)
    fail(Category::data,
         "{}: byte 2: element type is 0x{:02x}, but only 0x08 (unsigned byte) is supported; "
         "convert the file",
         path, type);
  if (magic == images_magic || magic == labels_magic)
    fail(Category::data, "{}: contains {}, expected {}; check whether the files are swapped", path,
         kind(magic), kind(expected));
  fail(Category::data, "{}: byte 3: {} dimensions, {} have {}; convert the file", path, rank,
       kind(expected), expected & 0xff);
}

// Elements after the header. Refuses what the file cannot hold, before memory is asked for.
uint64_t body_bytes(const InputFile& file, std::span<const int64_t> dims) {
  uint64_t bytes = 1;
  bool overflow = false;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 0)
      fail(Category::data,
           "{}: byte {}: dimension {} is 0, so the file has no samples; get another file",
           file.path().string(), 4 + 4 * i, i);
    overflow |= __builtin_mul_overflow(bytes, static_cast<uint64_t>(dims[i]), &bytes);
  }
  uint64_t header = 4 + 4 * dims.size();
  uint64_t most = file.max_bytes() - std::min(file.max_bytes(), header);
  if (overflow || bytes > most)
    fail(Category::data,
         "{}: bytes 4-{}: dimensions ({}) need more than the {} bytes this file can hold: damaged "
         "header or truncated; get an intact copy",
         file.path().string(), header - 1, fmt::join(dims, ", "), most);
  return bytes;
}

// `at`: of the file's content.
void read_values(InputFile& file, uint64_t at, std::span<uint8_t> values, uint64_t end) {
  size_t got = file.read(values);
  if (got < values.size())
    fail(Category::data, "{}: truncated: ends at byte {}, {} were announced; get an intact copy",
         file.path().string(), at + got, end);
}

void check_end(InputFile& file, uint64_t end) {
  std::array<uint8_t, 1> one{};
  if (file.read(one) != 0)  // this read also verifies gzip's CRC
    fail(Category::data,
         "{}: byte {}: data beyond the announced end; header and data disagree, get an intact copy",
         file.path().string(), end);
}

std::vector<int64_t> read_dims(InputFile& file, uint32_t expected) {
  check_magic(file, read_u32(file, 0), expected);
  std::vector<int64_t> dims;
  for (uint64_t i = 0; i < (expected & 0xff); ++i) dims.push_back(read_u32(file, 4 + 4 * i));
  return dims;
}

IdxFile read_idx(const std::filesystem::path& path, uint32_t expected) {
  InputFile file(existing_input(path));
  IdxFile idx{file.path(), read_dims(file, expected), {}};
  idx.values.resize(body_bytes(file, idx.dims));
  uint64_t header = 4 + 4 * idx.dims.size(), end = header + idx.values.size();
  read_values(file, header, idx.values, end);
  check_end(file, end);
  return idx;
}

}  // namespace

IdxFile read_idx_images(const std::filesystem::path& path) {
  return read_idx(path, images_magic);
}

IdxFile read_idx_labels(const std::filesystem::path& path) {
  return read_idx(path, labels_magic);
}

IdxImages::IdxImages(const std::filesystem::path& path)
    : file_(existing_input(path)), dims_(read_dims(file_, images_magic)) {
  body_bytes(file_, dims_);
}

bool IdxImages::next(std::span<uint8_t> pixels) {
  constexpr uint64_t header = 4 + 4 * 3;
  uint64_t end = header + static_cast<uint64_t>(count()) * pixels.size();
  if (read_ == count()) return false;
  read_values(file_, header + static_cast<uint64_t>(read_) * pixels.size(), pixels, end);
  if (++read_ == count()) check_end(file_, end);
  return true;
}

}  // namespace spire::inline data
