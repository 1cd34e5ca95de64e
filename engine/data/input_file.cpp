#include "engine/data/input_file.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include <zlib.h>

#include <spire/error.h>

namespace spire::inline data {
namespace {

constexpr size_t buffer_bytes = size_t{256} << 10;
// What people keep in such files packs 3 to 20 times; deflate packs up to 1032 times, so that a
// small file of a stranger could take all memory. Unpacked files have no such limit.
constexpr uint64_t max_ratio = 64;
constexpr uint64_t any_ratio_bytes = uint64_t{256} << 20;  // of content
}  // namespace

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

// zlib's state. `within` is true from the first byte of a gzip member to its verified end.
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
  return inflater_ ? std::max(file_.bytes() * max_ratio, any_ratio_bytes) : file_.bytes();
}

size_t InputFile::read(std::span<uint8_t> out) {
  return inflater_ ? read_gzip(out) : read_plain(out);
}

std::string InputFile::read_text(size_t most) {
  std::string text;
  size_t got = 0;
  do {
    size_t before = text.size();
    text.resize(before + buffer_bytes);
    got = read({reinterpret_cast<uint8_t*>(text.data()) + before, buffer_bytes});
    text.resize(before + got);
    if (text.size() > most)
      fail(Category::data, "{}: longer than {} bytes; split the file", path().string(), most);
  } while (got == buffer_bytes);
  return text;
}

bool InputFile::refill() {
  size_t filled = file_.read(std::as_writable_bytes(std::span(buffer_)));
  if (filled < buffer_.size())  // the end
    require_same(path(), stamp_, stamp_of(file_.descriptor(), path()));
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
    if (!inflater_->within) {  // gzip files may be concatenated
      inflateReset(&z);
      inflater_->within = inflater_->later_member = true;
    }
    size_t room = std::min<size_t>(out.size() - done, std::numeric_limits<uInt>::max());
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

void InputFile::fail_gzip(const char* what) const {
  bool trailing = inflater_->later_member && std::strcmp(what, "incorrect header check") == 0;
  fail(Category::data, "{}: damaged gzip data before byte {} of the file: {}; get an intact copy",
       path().string(), raw_offset_ - chunk_.size(),
       trailing ? "other bytes follow its end" : what);
}

}  // namespace spire::inline data
