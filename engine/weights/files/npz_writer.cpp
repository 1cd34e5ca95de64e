#include "engine/weights/files/npz_writer.h"

#include <algorithm>
#include <bit>
#include <memory>
#include <vector>

#include <archive.h>
#include <archive_entry.h>
#include <fmt/ranges.h>

#include <spire/error.h>

#include "engine/base/message_words.h"

namespace spire::inline weights {
namespace {

static_assert(std::endian::native == std::endian::little, "files hold numbers as memory does");

constexpr size_t piece_floats = size_t{1} << 21;

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
  std::string header("\x93NUMPY\x01\x00", 8);
  header += static_cast<char>(text.size() & 0xff);
  header += static_cast<char>(text.size() >> 8);
  return header + text;
}

// Zip archive of stored files, written to `file`. libarchive writes zip64 where sizes need it.
class StoredZip {
 public:
  explicit StoredZip(AtomicWriter& file) : file_(file), archive_(archive_write_new()) {
    if (!archive_) throw std::bad_alloc();
    check(archive_write_set_format_zip(archive_.get()));
    check(archive_write_zip_set_compression_store(archive_.get()));
    check(archive_write_set_bytes_per_block(archive_.get(), 1 << 20));
    check(archive_write_set_bytes_in_last_block(archive_.get(), 1));
    check(archive_write_open(archive_.get(), this, nullptr, &StoredZip::take, nullptr));
  }

  void begin(const std::string& name, uint64_t bytes) {
    std::unique_ptr<archive_entry, void (*)(archive_entry*)> entry(archive_entry_new(),
                                                                   archive_entry_free);
    if (!entry) throw std::bad_alloc();
    archive_entry_set_pathname_utf8(entry.get(), name.c_str());
    archive_entry_set_size(entry.get(), static_cast<la_int64_t>(bytes));
    archive_entry_set_filetype(entry.get(), AE_IFREG);
    archive_entry_set_perm(entry.get(), 0644);
    archive_entry_set_mtime(entry.get(), 0, 0);  // the same weights give the same bytes
    check(archive_write_header(archive_.get(), entry.get()));
  }
  void write(const void* bytes, size_t count) {
    la_ssize_t wrote = archive_write_data(archive_.get(), bytes, count);
    if (wrote != static_cast<la_ssize_t>(count)) fail_write();
  }
  void close() { check(archive_write_close(archive_.get())); }

 private:
  // libarchive is C: an exception waits here until its function has returned.
  static la_ssize_t take(archive*, void* self, const void* bytes, size_t count) {
    auto* zip = static_cast<StoredZip*>(self);
    try {
      zip->file_.write({static_cast<const char*>(bytes), count});
      return static_cast<la_ssize_t>(count);
    } catch (...) {
      zip->thrown_ = std::current_exception();
      return -1;
    }
  }
  void check(int result) {
    if (result < ARCHIVE_WARN || thrown_) fail_write();
  }
  [[noreturn]] void fail_write() {
    if (thrown_) std::rethrow_exception(thrown_);
    const char* text = archive_error_string(archive_.get());
    fail(Category::checkpoint, "cannot write the .npz file: {}", text != nullptr ? text : "");
  }

  struct Free {
    void operator()(archive* a) const { archive_write_free(a); }
  };
  AtomicWriter& file_;
  std::exception_ptr thrown_;
  std::unique_ptr<archive, Free> archive_;
};

}  // namespace

void write_npz(const std::filesystem::path& path, std::span<const TensorToWrite> tensors,
               Existing existing) {
  AtomicWriter file(path, Category::checkpoint, existing);
  StoredZip zip(file);
  std::vector<float> piece(piece_floats);
  for (const TensorToWrite& tensor : tensors) {
    std::string header = npy_header(tensor.shape);
    int64_t count = tensor.shape.elements();
    zip.begin(tensor.name + ".npy", header.size() + static_cast<uint64_t>(count) * sizeof(float));
    zip.write(header.data(), header.size());
    for (int64_t at = 0; at < count;) {
      auto part = std::span(piece).first(std::min(piece.size(), static_cast<size_t>(count - at)));
      tensor.read(at, part);
      zip.write(part.data(), part.size_bytes());
      at += std::ssize(part);
    }
  }
  zip.close();
  file.commit();
}

}  // namespace spire::inline weights
