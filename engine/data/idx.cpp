#include <spire/base/error.h>
#include <spire/data/idx.h>
#include <spire/data/input_file.h>

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

namespace spire {
namespace {

constexpr uint32_t images_magic = 0x00000803;
constexpr uint32_t labels_magic = 0x00000801;
constexpr uint32_t unsigned_byte = 0x08;

bool is_there(const std::filesystem::path& path) {
  std::error_code error;  // a file that cannot be looked at exists: opening it says why
  return std::filesystem::status(path, error).type() != std::filesystem::file_type::not_found;
}

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
         "{}: byte 2: element type 0x{:02x}, only 0x08 (unsigned byte) is read; convert the file",
         path, type);
  if (magic == images_magic || magic == labels_magic)
    fail(Category::data, "{}: holds {}, expected {}; are the files swapped?", path, kind(magic),
         kind(expected));
  fail(Category::data, "{}: byte 3: {} dimensions, {} have {}; convert the file", path, rank,
       kind(expected), expected & 0xff);
}

// Elements after the header. Refuses what the file cannot hold, before memory is asked for.
uint64_t body_bytes(const InputFile& file, std::span<const int64_t> dims) {
  uint64_t bytes = 1;
  bool overflow = false;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 0)
      fail(Category::data, "{}: byte {}: dimension {} is 0: an empty set; get a file with samples",
           file.path().string(), 4 + 4 * i, i);
    overflow |= __builtin_mul_overflow(bytes, static_cast<uint64_t>(dims[i]), &bytes);
  }
  uint64_t header = 4 + 4 * dims.size();
  uint64_t most = file.most_bytes() - std::min(file.most_bytes(), header);
  if (overflow || bytes > most)
    fail(Category::data,
         "{}: bytes 4-{}: dimensions ({}) need more than the {} bytes this file can hold: damaged "
         "header or truncated; get an intact copy",
         file.path().string(), header - 1, fmt::join(dims, ", "), most);
  return bytes;
}

void read_body(InputFile& file, uint64_t header, std::span<uint8_t> values) {
  size_t got = file.read(values);
  if (got < values.size())
    fail(Category::data, "{}: truncated: ends at byte {}, {} were announced; get an intact copy",
         file.path().string(), header + got, header + values.size());
  std::array<uint8_t, 1> one{};
  if (file.read(one) != 0)  // this read also verifies gzip's CRC
    fail(Category::data,
         "{}: byte {}: data beyond the announced end; header and data disagree, get an intact copy",
         file.path().string(), header + values.size());
}

IdxFile read_idx(const std::filesystem::path& path, uint32_t expected) {
  std::filesystem::path found = find_idx(path);
  if (found.empty())
    fail(Category::data, "{}: no such file, plain or .gz; put it there or correct data.path",
         path.string());
  InputFile file(found);
  check_magic(file, read_u32(file, 0), expected);
  IdxFile idx;
  idx.path = found;
  for (uint64_t i = 0; i < (expected & 0xff); ++i) idx.dims.push_back(read_u32(file, 4 + 4 * i));
  idx.values.resize(body_bytes(file, idx.dims));
  read_body(file, 4 + 4 * idx.dims.size(), idx.values);
  return idx;
}

}  // namespace

std::filesystem::path find_idx(const std::filesystem::path& path) {
  if (is_there(path)) return path;
  std::filesystem::path other = path;
  if (path.extension() == ".gz") {
    other.replace_extension();
  } else {
    other += ".gz";
  }
  return is_there(other) ? other : std::filesystem::path();
}

IdxFile read_idx_images(const std::filesystem::path& path) {
  return read_idx(path, images_magic);
}

IdxFile read_idx_labels(const std::filesystem::path& path) {
  return read_idx(path, labels_magic);
}

}  // namespace spire
