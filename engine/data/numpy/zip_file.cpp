// An archive ends with its directory and the record of its end, which says where the directory
// begins. Numbers have their lowest byte first; those that do not fit their fields are all ones
// there and stand in a zip64 record.
#include "engine/data/numpy/zip_file.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include <zlib.h>

#include "engine/base/fail.h"
#include "engine/base/read_file.h"

namespace spire {
namespace {

constexpr std::string_view begin_of_entry = "PK\x03\x04", begin_of_empty = "PK\x05\x06";
constexpr std::string_view begin_of_record = "PK\x01\x02", begin_of_end = begin_of_empty;
constexpr std::string_view begin_of_end64 = "PK\x06\x06", begin_of_locator = "PK\x06\x07";
constexpr uint64_t entry_bytes = 30, record_bytes = 46, end_bytes = 22, end64_bytes = 56;
constexpr uint64_t locator_bytes = 20, max_comment = 0xffff;
constexpr uint64_t max_directory = uint64_t{1} << 28;
constexpr uint64_t max_deflation = 1032;  // bytes that deflate makes of one, at most
constexpr uint64_t encrypted = 1;         // flag of an entry
constexpr uint64_t in_zip64 = 0xffffffff;

// A piece of the archive. REQUIRES: numbers lie within it.
struct ZipPiece {
  std::vector<std::byte> bytes;

  uint64_t number(uint64_t at, size_t count) const {
    uint64_t value = 0;
    for (size_t i = count; i-- > 0;) value = value << 8 | std::to_integer<uint64_t>(bytes[at + i]);
    return value;
  }
  std::string_view text(uint64_t at, uint64_t count) const {
    return {reinterpret_cast<const char*>(bytes.data()) + at, count};
  }
};

[[noreturn]] void fail_no_archive(const ChangeDetectingReader& file) {
  fail(Category::data,
       "{}: is no intact zip archive, or has no entries; write it again by numpy.savez",
       file.path().string());
}

ZipPiece read_piece(const ChangeDetectingReader& file, uint64_t begin, uint64_t count) {
  if (begin > file.bytes() || count > file.bytes() - begin) fail_no_archive(file);
  ZipPiece piece{std::vector<std::byte>(count)};
  file.read(begin, piece.bytes);
  return piece;
}

}  // namespace

ByteSource::ByteSource(const std::filesystem::path& path)
    : file_(std::make_shared<ChangeDetectingReader>(path)),
      name_(path.filename().string()),
      location_(path.string()),
      bytes_(file_->bytes()) {}

ByteSource::ByteSource(std::shared_ptr<const ChangeDetectingReader> file, const std::string& name,
                       uint64_t begin, uint64_t bytes, uint32_t crc)
    : file_(std::move(file)),
      name_(name),
      location_(fmt::format("{}: {}", file_->path().string(), name)),
      begin_(begin),
      bytes_(bytes),
      crc_(crc) {}

ByteSource::ByteSource(std::shared_ptr<const ChangeDetectingReader> file, const std::string& name,
                       std::vector<std::byte> decoded)
    : file_(std::move(file)),
      name_(name),
      location_(fmt::format("{}: {}", file_->path().string(), name)),
      bytes_(decoded.size()),
      decoded_(std::make_shared<const std::vector<std::byte>>(std::move(decoded))) {}

void ByteSource::read(uint64_t offset, std::span<std::byte> out) const {
  if (!decoded_) return file_->read(begin_ + offset, out);
  file_->read(0, {});  // only to see that it is as it was
  std::copy_n(decoded_->begin() + static_cast<std::ptrdiff_t>(offset), out.size(), out.begin());
}

void ByteSource::verify() const {
  if (!crc_) return;
  std::vector<std::byte> piece(size_t{1} << 20);
  uLong crc = crc32(0, nullptr, 0);
  for (uint64_t at = 0; at < bytes_;) {
    auto part = std::span(piece).first(std::min<uint64_t>(piece.size(), bytes_ - at));
    read(at, part);
    crc = crc32(crc, reinterpret_cast<const Bytef*>(part.data()), static_cast<uInt>(part.size()));
    at += part.size();
  }
  if (crc != *crc_)
    fail(Category::data, "{}: its checksum does not match; get an intact copy", location_);
}

struct ZipFile::Entry {
  std::string name;
  uint64_t place = 0;              // of its header in the file
  uint64_t stored = 0, bytes = 0;  // in the file; decoded
  uint64_t method = 0;             // 0: stored, 8: deflated
  uint32_t crc = 0;
  bool is_encrypted = false;
};

class ZipFile::Directory {
 public:
  explicit Directory(const ChangeDetectingReader& file) : file_(file) {}

  std::vector<Entry> read() const {
    auto [begin, bytes, count] = place();
    if (bytes > max_directory) fail_no_archive(file_);
    ZipPiece directory = read_piece(file_, begin, bytes);
    std::vector<Entry> entries;
    for (uint64_t at = 0; entries.size() < count;) entries.push_back(next(directory, at));
    if (entries.empty()) fail_no_archive(file_);
    return entries;
  }

 private:
  struct Place {
    uint64_t begin, bytes, entries;
  };

  Place place() const {
    uint64_t tail = std::min(file_.bytes(), end_bytes + max_comment);
    uint64_t begin = file_.bytes() - tail;
    ZipPiece piece = read_piece(file_, begin, tail);
    size_t at = piece.text(0, tail).rfind(begin_of_end);
    if (at == std::string_view::npos || tail - at < end_bytes) fail_no_archive(file_);
    if (begin + at >= locator_bytes)
      if (auto large = place64(begin + at - locator_bytes)) return *large;
    return {piece.number(at + 16, 4), piece.number(at + 12, 4), piece.number(at + 10, 2)};
  }
  // The place in a zip64 record, which a locator before the end names.
  std::optional<Place> place64(uint64_t at) const {
    ZipPiece locator = read_piece(file_, at, locator_bytes);
    if (locator.text(0, 4) != begin_of_locator) return {};
    ZipPiece end = read_piece(file_, locator.number(8, 8), end64_bytes);
    if (end.text(0, 4) != begin_of_end64) fail_no_archive(file_);
    return Place{end.number(48, 8), end.number(40, 8), end.number(32, 8)};
  }

  // Reads the record at `at`, and moves that behind it.
  Entry next(const ZipPiece& directory, uint64_t& at) const {
    uint64_t room = directory.bytes.size() - at;
    if (room < record_bytes || directory.text(at, 4) != begin_of_record) fail_no_archive(file_);
    uint64_t name = directory.number(at + 28, 2), extra = directory.number(at + 30, 2);
    uint64_t comment = directory.number(at + 32, 2);
    if (name + extra + comment > room - record_bytes) fail_no_archive(file_);
    Entry entry{.name = std::string(directory.text(at + record_bytes, name)),
                .place = directory.number(at + 42, 4),
                .stored = directory.number(at + 20, 4),
                .bytes = directory.number(at + 24, 4),
                .method = directory.number(at + 10, 2),
                .crc = static_cast<uint32_t>(directory.number(at + 16, 4)),
                .is_encrypted = (directory.number(at + 8, 2) & encrypted) != 0};
    entry.name.resize(std::min(entry.name.size(), entry.name.find('\0')));
    take_large_numbers(directory, at + record_bytes + name, extra, entry);
    at += record_bytes + name + extra + comment;
    return entry;
  }

  // Extra fields: a kind, a length and the content. That of kind 1 has the large numbers.
  static void take_large_numbers(const ZipPiece& directory, uint64_t at, uint64_t bytes,
                                 Entry& entry) {
    constexpr uint64_t zip64 = 1;
    for (uint64_t end = at + bytes; at + 4 <= end;) {
      uint64_t kind = directory.number(at, 2), length = directory.number(at + 2, 2);
      at += 4;
      if (length > end - at) return;
      uint64_t field = at;
      for (uint64_t* number : {&entry.bytes, &entry.stored, &entry.place})
        if (kind == zip64 && *number == in_zip64 && field + 8 <= at + length) {
          *number = directory.number(field, 8);
          field += 8;
        }
      at += length;
    }
  }

  const ChangeDetectingReader& file_;
};

ZipFile::ZipFile(const std::filesystem::path& path)
    : file_(std::make_shared<ChangeDetectingReader>(path)), entries_(Directory(*file_).read()) {}

ZipFile::~ZipFile() = default;

std::vector<std::string> ZipFile::names() const {
  std::vector<std::string> names;
  for (const Entry& entry : entries_) names.push_back(entry.name);
  return names;
}

const ZipFile::Entry* ZipFile::find(const std::string& name) const {
  // Of several the last one, as Python's zipfile has it: that was added to replace the others.
  auto found = std::find_if(entries_.rbegin(), entries_.rend(),
                            [&](const Entry& entry) { return entry.name == name; });
  return found == entries_.rend() ? nullptr : &*found;
}

bool ZipFile::has(const std::string& name) const {
  return find(name) != nullptr;
}

// Refuses what cannot be read, and sizes that the file's size does not account for.
void ZipFile::require_readable(const Entry& entry) const {
  std::string where = fmt::format("{}: {}", path().string(), entry.name);
  if (entry.is_encrypted)
    fail(Category::data, "{}: is encrypted; write it again by numpy.savez", where);
  if (entry.method != 0 && entry.method != Z_DEFLATED)
    fail(Category::data,
         "{}: is compressed by method {}; only stored and deflated entries are read, as "
         "numpy.savez and numpy.savez_compressed write them",
         where, entry.method);
  bool fits =
      entry.method == 0 ? entry.bytes == entry.stored : entry.bytes / max_deflation <= entry.stored;
  if (!fits || entry.stored > file_->bytes())
    fail(Category::data,
         "{}: has {} bytes in the file, which cannot be the {} bytes of the archive's directory; "
         "get an intact copy",
         where, entry.stored, entry.bytes);
}

// Returns where the entry's bytes begin, behind its header.
uint64_t ZipFile::begin_of(const Entry& entry) const {
  uint64_t begin = entry.place + entry_bytes;
  bool inside = entry.place <= file_->bytes() && begin <= file_->bytes();
  if (inside) {
    ZipPiece header = read_piece(*file_, entry.place, entry_bytes);
    inside = header.text(0, 4) == begin_of_entry;
    begin += header.number(26, 2) + header.number(28, 2);  // name and extra fields
  }
  if (!inside || begin > file_->bytes() || entry.stored > file_->bytes() - begin)
    fail(Category::data,
         "{}: {}: is damaged: it does not lie where the archive's directory says; get an intact "
         "copy",
         path().string(), entry.name);
  return begin;
}

ByteSource ZipFile::open(const std::string& name) const {
  const Entry* entry = find(name);
  if (entry == nullptr) fail(Category::data, "{}: there is no entry {}", path().string(), name);
  require_readable(*entry);
  uint64_t begin = begin_of(*entry);
  if (entry->method != 0) return {file_, name, decode(*entry, begin)};
  return {file_, name, begin, entry->bytes, entry->crc};
}

std::vector<std::byte> ZipFile::decode(const Entry& entry, uint64_t begin) const {
  constexpr uint64_t piece_bytes = 1 << 20, most = 1 << 30;
  std::vector<std::byte> bytes(entry.bytes);
  struct Inflater : z_stream {
    Inflater() : z_stream{} { inflateInit2(this, -MAX_WBITS); }
    ~Inflater() { inflateEnd(this); }
  } z;
  z.next_out = reinterpret_cast<Bytef*>(bytes.data());
  uint64_t left = entry.stored;
  ZipPiece piece;
  int result = Z_OK;
  while (result == Z_OK) {
    if (z.avail_in == 0) {
      if (left == 0) break;
      uint64_t part = std::min(left, piece_bytes);
      piece = read_piece(*file_, begin + entry.stored - left, part);
      left -= part;
      z.next_in = reinterpret_cast<Bytef*>(piece.bytes.data());
      z.avail_in = static_cast<uInt>(part);
    }
    auto room = static_cast<uint64_t>(bytes.data() + bytes.size() -
                                      reinterpret_cast<std::byte*>(z.next_out));
    z.avail_out = static_cast<uInt>(std::min(room, most));
    result = inflate(&z, Z_NO_FLUSH);
  }
  uLong crc = crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
  if (result != Z_STREAM_END || z.total_out != bytes.size() || crc != entry.crc)
    fail(Category::data, "{}: {}: is damaged; get an intact copy", path().string(), entry.name);
  return bytes;
}

bool is_zip(const std::filesystem::path& path) {
  return begins_with(path, begin_of_entry) || begins_with(path, begin_of_empty);
}

}  // namespace spire
