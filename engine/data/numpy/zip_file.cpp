#include "engine/data/numpy/zip_file.h"

#include <algorithm>
#include <exception>
#include <limits>
#include <new>
#include <string_view>
#include <utility>

#include <minizip/unzip.h>

#include <spire/error.h>

#include "engine/base/read_file.h"

namespace spire::inline data {
namespace {

constexpr std::string_view begin_of_entry = "PK\x03\x04", begin_of_empty = "PK\x05\x06";
constexpr uint64_t max_deflation = 1032;  // bytes that deflate makes of one, at most
constexpr uint32_t encrypted = 1;         // flag of an entry

}  // namespace

struct ZipFile::Entry {
  std::string name;
  unz64_file_pos place = {};
  uint64_t stored = 0, bytes = 0;  // in the file; decoded
  uint64_t method = 0;             // 0: stored, 8: deflated
  uint32_t crc = 0;
  bool is_encrypted = false;
};

// What minizip reads from. It is C: an exception waits until its function has returned.
struct ZipFile::Input {
  const ChangeDetectingReader& file;
  uint64_t at = 0;
  bool ended = false;  // the last read was short: minizip takes that for zeros if nobody says so
  std::exception_ptr thrown = {};

  static voidpf open(voidpf self, const void*, int) { return self; }
  static int close(voidpf, voidpf) { return 0; }
  static int error(voidpf, voidpf stream) {
    auto* self = static_cast<Input*>(stream);
    return self->ended || self->thrown ? 1 : 0;
  }
  static ZPOS64_T tell(voidpf, voidpf self) { return static_cast<Input*>(self)->at; }
  static long seek(voidpf, voidpf stream, ZPOS64_T offset, int origin) {
    auto* self = static_cast<Input*>(stream);
    uint64_t from = origin == ZLIB_FILEFUNC_SEEK_SET   ? 0
                    : origin == ZLIB_FILEFUNC_SEEK_CUR ? self->at
                                                       : self->file.bytes();
    if (offset > self->file.bytes() || from + offset > self->file.bytes()) return -1;
    self->at = from + offset;
    return 0;
  }
  static uLong read(voidpf, voidpf stream, void* out, uLong count) {
    auto* self = static_cast<Input*>(stream);
    uint64_t part = std::min<uint64_t>(count, self->file.bytes() - self->at);
    self->ended = part < count;
    try {
      self->file.read(self->at, {static_cast<std::byte*>(out), part});
    } catch (...) {
      if (!self->thrown) self->thrown = std::current_exception();
      return 0;
    }
    self->at += part;
    return static_cast<uLong>(part);
  }
};

ZipFile::ZipFile(const std::filesystem::path& path)
    : file_(std::make_shared<ChangeDetectingReader>(path)),
      input_(std::make_unique<Input>(Input{.file = *file_})) {
  zlib_filefunc64_def functions = {.zopen64_file = Input::open,
                                   .zread_file = Input::read,
                                   .zwrite_file = nullptr,
                                   .ztell64_file = Input::tell,
                                   .zseek64_file = Input::seek,
                                   .zclose_file = Input::close,
                                   .zerror_file = Input::error,
                                   .opaque = input_.get()};
  zip_ = unzOpen2_64("", &functions);
  if (input_->thrown) {
    if (zip_) unzClose(zip_);
    std::rethrow_exception(input_->thrown);
  }
  if (!zip_)
    fail(Category::data,
         "{}: is no intact zip archive, or has no entries; write it again by numpy.savez",
         path.string());
  try {
    list_entries();
  } catch (...) {
    unzClose(zip_);
    throw;
  }
}

ZipFile::~ZipFile() {
  unzClose(zip_);
}

void ZipFile::list_entries() {
  unz_global_info64 all{};
  check(unzGetGlobalInfo64(zip_, &all), "");
  if (all.number_entry == 0) return;
  for (int result = unzGoToFirstFile(zip_); result != UNZ_END_OF_LIST_OF_FILE;
       result = unzGoToNextFile(zip_)) {
    check(result, "");
    unz_file_info64 info{};
    check(unzGetCurrentFileInfo64(zip_, &info, nullptr, 0, nullptr, 0, nullptr, 0), "");
    Entry entry;
    entry.name.resize(info.size_filename + 1);
    check(unzGetCurrentFileInfo64(zip_, &info, entry.name.data(), entry.name.size(), nullptr, 0,
                                  nullptr, 0),
          "");
    entry.name.resize(std::min<size_t>(info.size_filename, entry.name.find('\0')));
    check(unzGetFilePos64(zip_, &entry.place), "");
    entry.stored = info.compressed_size;
    entry.bytes = info.uncompressed_size;
    entry.method = info.compression_method;
    entry.crc = static_cast<uint32_t>(info.crc);
    entry.is_encrypted = (info.flag & encrypted) != 0;
    entries_.push_back(std::move(entry));
  }
}

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

// name: of the entry; empty: the archive as a whole.
void ZipFile::check(int result, const std::string& name) const {
  if (input_->thrown) std::rethrow_exception(std::exchange(input_->thrown, nullptr));
  if (result < 0)
    fail(Category::data, "{}{}{}: is damaged (minizip's error {}); get an intact copy",
         path().string(), name.empty() ? "" : ": ", name, result);
}

// Refuses what cannot be read, and sizes that the file's size does not account for.
void ZipFile::select(const Entry& entry) const {
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
  check(unzGoToFilePos64(zip_, &entry.place), entry.name);
}

ByteSource ZipFile::open(const std::string& name) const {
  const Entry* entry = find(name);
  if (entry == nullptr) fail(Category::data, "{}: there is no entry {}", path().string(), name);
  select(*entry);
  if (entry->method != 0) return {file_, name, decode(*entry)};
  int method = 0;
  check(unzOpenCurrentFile2(zip_, &method, nullptr, 1), name);
  uint64_t begin = unzGetCurrentFileZStreamPos64(zip_);
  check(unzCloseCurrentFile(zip_), name);
  if (begin > file_->bytes() || entry->bytes > file_->bytes() - begin)
    fail(Category::data, "{}: {}: ends behind the end of the file; get an intact copy",
         path().string(), name);
  return {file_, name, begin, entry->bytes, entry->crc};
}

std::vector<std::byte> ZipFile::decode(const Entry& entry) const {
  check(unzOpenCurrentFile(zip_), entry.name);
  std::vector<std::byte> bytes(entry.bytes);
  constexpr size_t most = size_t{1} << 30;
  size_t done = 0;
  int result = 1;
  while (result > 0 && done < bytes.size()) {
    auto part = static_cast<unsigned>(std::min(most, bytes.size() - done));
    result = unzReadCurrentFile(zip_, bytes.data() + done, part);
    if (result > 0) done += static_cast<size_t>(result);
  }
  int closed = unzCloseCurrentFile(zip_);  // compares the checksum
  check(std::min(result, closed), entry.name);
  if (done < bytes.size())
    fail(Category::data, "{}: {}: ends after {} of {} bytes; get an intact copy", path().string(),
         entry.name, done, bytes.size());
  return bytes;
}

bool is_zip(const std::filesystem::path& path) {
  return begins_with(path, begin_of_entry) || begins_with(path, begin_of_empty);
}

}  // namespace spire::inline data
