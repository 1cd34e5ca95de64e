#include "engine/data/input_file.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <sys/stat.h>
#include <utility>

#include <zlib.h>

#include "engine/base/fail.h"
#include "engine/base/hash.h"
#include "engine/base/text.h"

namespace spire {
namespace {

constexpr size_t buffer_bytes = size_t{256} << 10;
// Bound against decompression bombs: real data compresses 3 to 20 times, deflate up to 1032 times.
constexpr uint64_t max_deflate_ratio = 64;
constexpr uint64_t any_ratio_bytes = uint64_t{256} << 20;  // content below this has no bound

// Returns a hash that is never 0, which FileStampCache keeps for files that were not read yet.
uint64_t hash_of(const FileStamp& stamp) {
  static_assert(sizeof(FileStamp) == 32, "no padding is hashed");
  return hash64(&stamp, sizeof(stamp)) | 1;
}

}  // namespace

FileStamp stamp_of(int descriptor, const std::filesystem::path& path) {
  struct stat status {};
  if (::fstat(descriptor, &status) != 0)
    fail(Category::data, "{}: cannot be examined: {}; check the disk", path.string(),
         std::strerror(errno));
  return {.device = status.st_dev,
          .inode = status.st_ino,
          .bytes = static_cast<uint64_t>(status.st_size),
          .modified = int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec};
}

FileChanged::FileChanged(const std::filesystem::path& path, const std::string& how)
    : Error(Category::data,
            fmt::format("{}: changed while the run reads it: {}; start again with the file as it "
                        "is now, or put the old one back and resume",
                        printable(path.string()), how)) {}

void require_unchanged(const std::filesystem::path& path, const FileStamp& before,
                       const FileStamp& now) {
  if (before == now) return;
  if (before.device != now.device || before.inode != now.inode)
    throw FileChanged(path, "another file has taken its place");
  if (before.bytes != now.bytes)
    throw FileChanged(path, fmt::format("it had {} bytes, now {}", before.bytes, now.bytes));
  throw FileChanged(path, "it was written to");
}

ChangeDetectingReader::ChangeDetectingReader(std::filesystem::path path)
    : file_(std::move(path), Category::data), stamp_(stamp_of(file_.descriptor(), file_.path())) {}

// Two system calls. A file that shrinks is an error, where a mapped one would end the process
// (SIGBUS).
void ChangeDetectingReader::read(uint64_t offset, std::span<std::byte> out) const {
  size_t done = file_.read_at(offset, out);
  // The stamp is checked after the read: a write before or during it shows here. It goes first, as
  // it says why a read is short.
  require_unchanged(path(), stamp_, stamp_of(file_.descriptor(), path()));
  if (done < out.size())
    throw FileChanged(path(), fmt::format("it ends at byte {}", offset + done));
}

bool FileStampCache::has(int64_t file) const {
  return hashes_[static_cast<size_t>(file)].load(std::memory_order_relaxed) != 0;
}

void FileStampCache::check(int64_t file, const FileStamp& stamp,
                           const std::filesystem::path& path) const {
  uint64_t now = hash_of(stamp), before = 0;
  auto& hash = hashes_[static_cast<size_t>(file)];
  // Relaxed: the hash is all that threads share, it guards no other memory.
  if (hash.compare_exchange_strong(before, now, std::memory_order_relaxed)) return;
  if (before != now) throw FileChanged(path, "it is another one than was read before");
}

std::filesystem::path find_input(const std::filesystem::path& path) {
  if (is_there(path)) return path;
  std::filesystem::path other = path;
  if (path.extension() == ".gz") {
    other.replace_extension();
  } else {
    other += ".gz";
  }
  return is_there(other) ? other : std::filesystem::path();
}

std::filesystem::path existing_input(const std::filesystem::path& path) {
  std::filesystem::path found = find_input(path);
  if (found.empty())
    fail(Category::data,
         "{}: there is no such file, plain or .gz; put it there or correct data.path",
         path.string());
  return found;
}

std::vector<std::filesystem::path> standard_dataset_folders(const std::string& name) {
  std::vector<std::filesystem::path> folders;
  if (const char* root = std::getenv("SPIRE_DATA"))
    folders.push_back(std::filesystem::path(root) / name);
  folders.push_back(std::filesystem::path("./data") / name);
  folders.push_back(std::filesystem::path("/usr/share/datasets") / name);
  return folders;
}

std::filesystem::path find_dataset_folder(const std::vector<std::filesystem::path>& folders,
                                          const std::string& file, const std::string& advice) {
  std::string tried;
  for (const std::filesystem::path& folder : folders) {
    if (!find_input(folder / file).empty()) return folder;
    tried += fmt::format("{}{}", tried.empty() ? "" : ", ", folder.string());
  }
  fail(Category::data, "there is no {}[.gz] in any of: {}; {}, or set data.path", file, tried,
       advice);
}

// State of zlib. `within` is true from the first byte of a gzip member to its verified end.
struct InputFile::Inflater {
  Inflater() { require(inflateInit2(&stream, 15 + 16) == Z_OK, "zlib cannot be started"); }
  ~Inflater() { inflateEnd(&stream); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  z_stream stream{};
  bool within = true;
  bool later_member = false;  // after the first member of the file
};

InputFile::InputFile(std::filesystem::path path)
    : file_(std::move(path), Category::data),
      stamp_(stamp_of(file_.descriptor(), file_.path())),
      buffer_(buffer_bytes) {
  refill();
  if (chunk_.size() >= 2 && chunk_[0] == 0x1f && chunk_[1] == 0x8b)
    inflater_ = std::make_unique<Inflater>();
}

InputFile::~InputFile() = default;

uint64_t InputFile::max_bytes() const {
  return inflater_ ? std::max(file_.bytes() * max_deflate_ratio, any_ratio_bytes) : file_.bytes();
}

size_t InputFile::read(std::span<uint8_t> out) {
  return inflater_ ? read_gzip(out) : read_plain(out);
}

std::string InputFile::read_text(size_t max_length) {
  std::string text;
  // A read is short only at the end of the content.
  size_t got = 0;
  do {
    size_t before = text.size();
    text.resize(before + buffer_bytes);
    got = read({reinterpret_cast<uint8_t*>(text.data()) + before, buffer_bytes});
    text.resize(before + got);
    if (text.size() > max_length)
      fail(Category::data, "{}: longer than {} bytes; split the file", path().string(), max_length);
  } while (got == buffer_bytes);
  return text;
}

bool InputFile::refill() {
  size_t filled = file_.read(std::as_writable_bytes(std::span(buffer_)));
  if (filled < buffer_.size())  // at the end, so that the stamp covers the whole content
    require_unchanged(path(), stamp_, stamp_of(file_.descriptor(), path()));
  chunk_ = {buffer_.data(), filled};
  raw_offset_ += filled;
  return filled > 0;
}

size_t InputFile::read_plain(std::span<uint8_t> out) {
  size_t done = 0;
  while (done < out.size() && (!chunk_.empty() || refill())) {
    size_t part = std::min(chunk_.size(), out.size() - done);
    std::memcpy(out.data() + done, chunk_.data(), part);
    chunk_ = chunk_.subspan(part);
    done += part;
  }
  return done;
}

size_t InputFile::read_gzip(std::span<uint8_t> out) {
  z_stream& z = inflater_->stream;
  size_t done = 0;
  while (done < out.size()) {
    if (chunk_.empty() && !refill()) {
      if (inflater_->within) fail_gzip("the file ends within the gzip data (truncated)");
      break;
    }
    if (!inflater_->within) {  // a file may hold several gzip members, one after another
      inflateReset(&z);
      inflater_->within = inflater_->later_member = true;
    }
    size_t room = std::min<size_t>(out.size() - done, std::numeric_limits<uInt>::max());
    // Inflates what is left of the chunk into what is left of `out`.
    z.next_in = const_cast<Bytef*>(chunk_.data());  // zlib only reads it
    z.avail_in = static_cast<uInt>(chunk_.size());
    z.next_out = out.data() + done;
    z.avail_out = static_cast<uInt>(room);
    int status = inflate(&z, Z_NO_FLUSH);
    chunk_ = chunk_.last(z.avail_in);
    done += room - z.avail_out;
    unpacked_ += room - z.avail_out;
    if (unpacked_ > max_bytes())
      fail(Category::data,
           "{}: {} bytes of gzip unpack to over {}; is this the right file? If so, unpack it with "
           "gunzip",
           path().string(), file_.bytes(), max_bytes());
    if (status == Z_STREAM_END) {
      inflater_->within = false;
    } else if (status != Z_OK) {
      fail_gzip(z.msg != nullptr ? z.msg : "the data is invalid");
    }
  }
  return done;
}

void InputFile::fail_gzip(const char* reason) const {
  // A second member with a bad header is rather trailing garbage.
  bool trailing = inflater_->later_member && std::strcmp(reason, "incorrect header check") == 0;
  fail(Category::data, "{}: damaged gzip data before byte {} of the file: {}; get an intact copy",
       path().string(), raw_offset_ - chunk_.size(),
       trailing ? "other bytes follow its end" : reason);
}

}  // namespace spire
