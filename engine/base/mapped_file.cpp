#include "engine/base/mapped_file.h"

#include <cerrno>
#include <sys/mman.h>
#include <utility>

#include "engine/base/regular_file.h"

namespace spire {

MappedFile::MappedFile(std::filesystem::path path) : path_(std::move(path)) {
  RegularFile file(path_, Category::data);
  if (file.bytes() == 0) return;
  void* memory = ::mmap(nullptr, file.bytes(), PROT_READ, MAP_SHARED, file.descriptor(), 0);
  if (memory == MAP_FAILED) file.fail_reading(errno);
  bytes_ = {static_cast<const std::byte*>(memory), file.bytes()};
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_(other.path_), bytes_(std::exchange(other.bytes_, {})) {}

}  // namespace spire
