// A file that is written at places, as long as it takes, and then gets its name.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

namespace spire {

// Every error is Error(data), names the file and the system's reason, and where there is no room
// for it, how many bytes it needs and how many are free.
class PreallocatedFile {
 public:
  // Makes the file where there is none. Throws where another process has it open in this way, and
  // for what is no regular file.
  explicit PreallocatedFile(std::filesystem::path path);
  ~PreallocatedFile();
  PreallocatedFile(const PreallocatedFile&) = delete;
  PreallocatedFile& operator=(const PreallocatedFile&) = delete;

  int64_t bytes() const;
  // Takes room on the disk for so many bytes, so that writing them cannot fail for want of it.
  void reserve(int64_t bytes) const;
  void resize(int64_t bytes) const;
  void write(int64_t place, std::span<const std::byte> bytes) const;  // any thread may call
  void sync() const;  // what was written outlives the machine
  // That of a file that this one is to replace, where there is one.
  void take_mode_of(const std::filesystem::path& former) const;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  int descriptor_;
};

// Throws as PreallocatedFile does unless the folder has room for so many more bytes of the file.
void require_room(const std::filesystem::path& file, int64_t bytes);

// Gives the file or folder its name in the place of what has it, and makes that durable.
void rename_durably(const std::filesystem::path& from, const std::filesystem::path& to);

}  // namespace spire
