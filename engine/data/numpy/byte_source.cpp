#include "engine/data/numpy/byte_source.h"

#include <algorithm>
#include <utility>

#include <zlib.h>

namespace spire::inline data {

ByteSource::ByteSource(const std::filesystem::path& path)
    : file_(std::make_shared<ChangeDetectingReader>(path)),
      name_(path.filename().string()),
      location_(path.string()),
      bytes_(file_->bytes()) {}

ByteSource::ByteSource(std::shared_ptr<const ChangeDetectingReader> file, const std::string& name,
                       uint64_t begin, uint64_t bytes, uint32_t crc)
    : file_(std::move(file)),
      name_(name),
      location_(fmt::format("{}: {}", file_->path().string(), name)),
      begin_(begin),
      bytes_(bytes),
      crc_(crc) {}

ByteSource::ByteSource(std::shared_ptr<const ChangeDetectingReader> file, const std::string& name,
                       std::vector<std::byte> decoded)
    : file_(std::move(file)),
      name_(name),
      location_(fmt::format("{}: {}", file_->path().string(), name)),
      bytes_(decoded.size()),
      decoded_(std::make_shared<const std::vector<std::byte>>(std::move(decoded))) {}

void ByteSource::read(uint64_t offset, std::span<std::byte> out) const {
  if (!decoded_) return file_->read(begin_ + offset, out);
  file_->read(0, {});  // only to see that it is as it was
  std::copy_n(decoded_->begin() + static_cast<std::ptrdiff_t>(offset), out.size(), out.begin());
}

void ByteSource::verify() const {
  if (!crc_) return;
  std::vector<std::byte> piece(size_t{1} << 20);
  uLong crc = crc32(0, nullptr, 0);
  for (uint64_t at = 0; at < bytes_;) {
    auto part = std::span(piece).first(std::min<uint64_t>(piece.size(), bytes_ - at));
    read(at, part);
    crc = crc32(crc, reinterpret_cast<const Bytef*>(part.data()), static_cast<uInt>(part.size()));
    at += part.size();
  }
  if (crc != *crc_)
    fail(Category::data, "{}: its checksum does not match; get an intact copy", location_);
}

}  // namespace spire::inline data
