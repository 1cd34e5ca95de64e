#include "engine/base/files.h"
#include "engine/base/read_file.h"
#include "engine/base/write_file.h"

namespace spire {

std::string read_text(const std::filesystem::path& path, Category category, size_t max_bytes) {
  return read_stream(path, category, max_bytes);
}

std::string read_text(int descriptor, const std::filesystem::path& name, Category category,
                      size_t max_bytes) {
  return read_stream(descriptor, name, category, max_bytes);
}

std::optional<std::string> read_text_if_there(const std::filesystem::path& path,
                                              Category category) {
  return read_file_if_there(path, category);
}

namespace {

// AtomicWriter says what stands in the way.
const std::filesystem::path& with_folder(const std::filesystem::path& path) {
  std::error_code error;
  if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path(), error);
  return path;
}

}  // namespace

WholeFile::WholeFile(const std::filesystem::path& path, Category category, bool overwrite)
    : writer_(std::make_unique<AtomicWriter>(with_folder(path), category,
                                             overwrite ? Existing::replace : Existing::keep)) {}

WholeFile::~WholeFile() = default;
WholeFile::WholeFile(WholeFile&&) noexcept = default;
WholeFile& WholeFile::operator=(WholeFile&&) noexcept = default;

void WholeFile::write(std::string_view bytes) {
  writer_->write(bytes);
}

void WholeFile::commit() {
  writer_->commit();
}

void write_whole_file(const std::filesystem::path& path, std::string_view content,
                      Category category, bool overwrite) {
  WholeFile file(path, category, overwrite);
  file.write(content);
  file.commit();
}

}  // namespace spire
