#include <algorithm>
#include <bit>
#include <exception>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include <fmt/ranges.h>
#include <minizip/zip.h>

#include "engine/base/fail.h"
#include "engine/base/npy_magic.h"
#include "engine/base/text.h"
#include "engine/weights/files/weight_writers.h"

namespace spire {
namespace {

static_assert(std::endian::native == std::endian::little, "files hold numbers as memory does");

// Header of a .npy file of version 1.0: a Python dict, padded so that the data begin at a multiple
// of 64 bytes.
std::string npy_header(const Shape& shape) {
  std::string extents;
  for (int64_t extent : shape.dims()) extents += fmt::format("{}, ", extent);
  std::string text =
      fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}), }}", extents);
  constexpr size_t before = 10;  // magic, version, length
  text.resize((before + text.size() + 1 + 63) / 64 * 64 - before - 1, ' ');
  text += '\n';
  std::string header(npy_magic);
  header.append("\x01\x00", 2);  // the version
  header += static_cast<char>(text.size() & 0xff);
  header += static_cast<char>(text.size() >> 8);
  return header + text;
}

// Zip archive of stored files, written to `file` by minizip.
class StoredZip {
 public:
  explicit StoredZip(AtomicWriter& file) : file_(file) {
    zlib_filefunc64_def functions = {.zopen64_file = open,
                                     .zread_file = nullptr,
                                     .zwrite_file = write_part,
                                     .ztell64_file = tell,
                                     .zseek64_file = seek,
                                     .zclose_file = ignore,
                                     .zerror_file = ignore,
                                     .opaque = this};
    zip_ = zipOpen2_64("", APPEND_STATUS_CREATE, nullptr, &functions);
    if (!zip_) throw std::bad_alloc();
  }
  ~StoredZip() {
    if (zip_) zipClose(zip_, nullptr);  // into the temporary file, which nobody commits
  }
  StoredZip(const StoredZip&) = delete;
  StoredZip& operator=(const StoredZip&) = delete;

  void begin(const std::string& name, uint64_t bytes) {
    constexpr uint32_t first_of_1980 = 1 << 21 | 1 << 16;  // the same weights give the same bytes
    constexpr uint32_t made_by_unix = 3 << 8 | 45, utf8_name = 1 << 11;
    constexpr uint32_t regular_0644 = 0100644u << 16;
    zip_fileinfo info = {
        .tmz_date = {}, .dosDate = first_of_1980, .internal_fa = 0, .external_fa = regular_0644};
    bool zip64 = bytes >= 0xffffffff;
    check(zipOpenNewFileInZip4_64(zip_, name.c_str(), &info, nullptr, 0, nullptr, 0, nullptr, 0, 0,
                                  0, -MAX_WBITS, DEF_MEM_LEVEL, Z_DEFAULT_STRATEGY, nullptr, 0,
                                  made_by_unix, utf8_name, zip64));
  }
  void write(const void* bytes, size_t count) {
    check(zipWriteInFileInZip(zip_, bytes, static_cast<unsigned>(count)));
  }
  void end() { check(zipCloseFileInZip(zip_)); }
  void close() { check(zipClose(std::exchange(zip_, nullptr), nullptr)); }

 private:
  static voidpf open(voidpf self, const void*, int) { return self; }
  static int ignore(voidpf, voidpf) { return 0; }
  static ZPOS64_T tell(voidpf self, voidpf) { return static_cast<StoredZip*>(self)->at_; }
  static long seek(voidpf opaque, voidpf, ZPOS64_T offset, int origin) {
    auto* self = static_cast<StoredZip*>(opaque);
    uint64_t from = origin == ZLIB_FILEFUNC_SEEK_SET   ? 0
                    : origin == ZLIB_FILEFUNC_SEEK_CUR ? self->at_
                                                       : self->end_;
    self->at_ = from + offset;
    return 0;
  }
  // minizip is C: an exception waits until its function has returned.
  static uLong write_part(voidpf opaque, voidpf, const void* bytes, uLong count) {
    auto* self = static_cast<StoredZip*>(opaque);
    try {
      self->file_.write_at(self->at_, {static_cast<const char*>(bytes), count});
    } catch (...) {
      if (!self->thrown_) self->thrown_ = std::current_exception();
      return 0;
    }
    self->at_ += count;
    self->end_ = std::max(self->end_, self->at_);
    return count;
  }
  void check(int result) const {
    if (thrown_) std::rethrow_exception(thrown_);
    if (result != ZIP_OK)
      fail(Category::checkpoint, "cannot write the .npz file: minizip's error {}", result);
  }

  AtomicWriter& file_;
  uint64_t at_ = 0, end_ = 0;  // where the next bytes go; size of the file
  std::exception_ptr thrown_;
  zipFile zip_ = nullptr;
};

}  // namespace

void write_npz(const std::filesystem::path& path, std::span<const TensorToWrite> tensors,
               Existing existing) {
  AtomicWriter file(path, Category::config, existing);
  StoredZip zip(file);
  std::vector<float> memory;
  for (const TensorToWrite& tensor : tensors) {
    std::string header = npy_header(tensor.shape);
    auto count = static_cast<uint64_t>(tensor.shape.elements());
    zip.begin(tensor.name + ".npy", header.size() + count * sizeof(float));
    zip.write(header.data(), header.size());
    read_in_parts(tensor, memory,
                  [&](std::span<const float> part) { zip.write(part.data(), part.size_bytes()); });
    zip.end();
  }
  zip.close();
  file.commit();
}

}  // namespace spire
