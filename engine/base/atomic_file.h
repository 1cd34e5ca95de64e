// Files that are either whole or not there, whatever kills the process or the machine.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string_view>
#include <sys/types.h>

#include <spire/error.h>

namespace spire {

// What a writer that was killed leaves behind: "<path>.tmp". Nobody reads it; it may be removed.
inline constexpr std::string_view temporary_suffix = ".tmp";

// What happens to a file that has the name already: a file of ours is replaced, one that a person
// names is kept, unless it is empty.
enum class Existing { replace, keep };

// Writes "<path>.tmp" bit by bit. commit() makes it `path`, as write_file_atomically() does;
// without it the temporary is removed, and an old `path` stays as it was. The new file has the mode
// of the old one, and its owner where the system allows that. Only a regular file is ever replaced:
// a folder, FIFO, device or link is refused before anything is written.
class AtomicWriter {
 public:
  // All throw Error(category) naming the file and the system's reason. With Existing::keep a file
  // that gets the name before commit() is kept, too; what was written then stays in the temporary.
  AtomicWriter(std::filesystem::path path, Category category,
               Existing existing = Existing::replace);
  ~AtomicWriter();
  AtomicWriter(const AtomicWriter&) = delete;
  AtomicWriter& operator=(const AtomicWriter&) = delete;

  void write(std::string_view bytes);
  // At a place of the file, which may lie behind its end: what nobody writes reads as zeros.
  void write_at(uint64_t offset, std::string_view bytes);
  void commit();  // once, at the end

 private:
  struct Former {
    mode_t mode;
    uid_t owner;
    gid_t group;
  };

  void look_at_former();
  void open_temporary();
  void take_name();

  std::filesystem::path path_, temporary_;
  Category category_;
  Existing existing_;
  std::optional<Former> former_;  // of the file that has the name
  int descriptor_ = -1;           // of the temporary
  bool committed_ = false;
};

// Makes what was made, renamed or removed in the directory outlive the machine.
void sync_directory(const std::filesystem::path& directory, Category category);

// Writes the parts, one after another, to "<path>.tmp", then fsync, rename to `path`, fsync of the
// directory: a reader sees the old file or the new one, never half of it. On failure the temporary
// is removed, an old `path` stays as it was, and Error(category) names the file and the system's
// reason. One writer a path at a time.
void write_file_atomically(const std::filesystem::path& path,
                           std::span<const std::string_view> parts, Category category,
                           Existing existing = Existing::replace);
void write_file_atomically(const std::filesystem::path& path, std::string_view content,
                           Category category, Existing existing = Existing::replace);

}  // namespace spire
