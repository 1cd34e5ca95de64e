// Writes files so that a kill or a power cut leaves no half-written file under the final name.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string_view>
#include <sys/types.h>
#include <system_error>

#include <spire/error.h>

namespace spire {

// Thrown for failures that a retry cannot cure: no permission, a name in use, a missing folder.
class PermanentError : public Error {
 public:
  using Error::Error;
};

// Suffix of temporary files: a killed AtomicWriter leaves "<path>.tmp", which may be removed.
inline constexpr std::string_view temporary_suffix = ".tmp";

enum class Existing { replace, keep };  // keep: Error(config) if a file exists and is not empty

// Writes "<path>.tmp" and renames it to `path` in commit(); removes it if commit() is not called.
// The new file has the mode of the old one, and its owner if the system allows. The constructor
// throws if `path` is a folder, FIFO, device or link.
class AtomicWriter {
 public:
  // All throw Error(category) with file and reason, Error(device) for a full disk. With
  // Existing::keep the constructor also throws Error(config) if "<path>.tmp" exists, and commit()
  // if a file has appeared at `path`: the temporary file then keeps the data.
  AtomicWriter(std::filesystem::path path, Category category,
               Existing existing = Existing::replace);
  ~AtomicWriter();
  AtomicWriter(const AtomicWriter&) = delete;
  AtomicWriter& operator=(const AtomicWriter&) = delete;

  void write(std::string_view bytes);
  void write_at(uint64_t offset, std::string_view bytes);  // zeros fill a gap
  void commit();                                           // once, at the end

 private:
  struct Former {
    mode_t mode;
    uid_t owner;
    gid_t group;
  };

  void examine_former();
  void open_temporary();
  void take_name();

  std::filesystem::path path_, temporary_;
  Category category_;
  Existing existing_;
  std::optional<Former> former_;  // of the file to replace; nullopt if there is none
  int descriptor_ = -1;           // of the temporary file
  bool committed_ = false;
};

// Makes the parent folders of `path` if they are missing. A caller that then makes an AtomicWriter
// may ignore the error: its constructor throws with the reason.
std::error_code make_folder_of(const std::filesystem::path& path);

// Writes the parts, one after another, with an AtomicWriter: readers see the old file or the new
// one. A path may have one writer at a time.
void write_file_atomically(const std::filesystem::path& path,
                           std::span<const std::string_view> parts, Category category,
                           Existing existing = Existing::replace);
void write_file_atomically(const std::filesystem::path& path, std::string_view content,
                           Category category, Existing existing = Existing::replace);

// File that is written at offsets, and locked against other processes. Once it is complete, the
// caller renames it (rename_durably()). All functions throw Error(data) with the file and the
// system's reason, or Error(device) for a full disk, with the bytes needed and free.
class PreallocatedFile {
 public:
  // Creates a missing file. Throws if another process has locked it, or if it is not regular.
  explicit PreallocatedFile(std::filesystem::path path);
  ~PreallocatedFile();
  PreallocatedFile(const PreallocatedFile&) = delete;
  PreallocatedFile& operator=(const PreallocatedFile&) = delete;

  int64_t bytes() const;
  void reserve(int64_t bytes) const;  // grows the file to this, with its blocks allocated
  void resize(int64_t bytes) const;
  void write(int64_t offset, std::span<const std::byte> bytes) const;  // any threads at once
  void sync() const;                                                   // fsync
  void take_mode_of(const std::filesystem::path& former) const;  // nothing if there is no `former`

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  int descriptor_;
};

// Throws Error(device) unless the disk of `file` has `bytes` free.
void require_room(const std::filesystem::path& file, int64_t bytes);

// Renames a file or folder, so that a power cut does not undo it. Throws Error(data).
void rename_durably(const std::filesystem::path& from, const std::filesystem::path& to);

// Makes creations, renames and removals in the directory survive a power cut.
void sync_directory(const std::filesystem::path& directory, Category category);

// Opens a regular file for reading and writing, or creates it; does not follow links. The caller
// closes the descriptor. Throws Error(category).
int open_in_place(const std::filesystem::path& path, Category category);

// Throws PermanentError(category) if a folder, link, FIFO or device is at `path`.
void require_replaceable(const std::filesystem::path& path, Category category);

}  // namespace spire
