#include "engine/run/audit/data_digest.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "engine/base/digest.h"
#include "engine/base/hash.h"
#include "engine/base/read_file.h"
#include "engine/data/sample.h"

namespace spire {
namespace {

constexpr size_t most_opened = 1000;                    // files of a part
constexpr uint64_t largest_whole = uint64_t{64} << 20;  // bytes
constexpr uint64_t most_read = uint64_t{512} << 20;
constexpr uint64_t digest_piece = uint64_t{1} << 20;

// Reads the file's content, or its ends, and counts the bytes in `read`.
std::string file_text(const std::filesystem::path& path, uint64_t& read) {
  RegularFile file(path, Category::data);
  uint64_t bytes = file.bytes();
  bool whole = bytes <= largest_whole && read + bytes <= most_read;
  std::vector<std::byte> buffer(std::min(digest_piece, bytes));
  Hash64 hash;
  auto add = [&](uint64_t offset) {
    hash.add(buffer.data(), file.read_at(offset, buffer));
    read += buffer.size();
  };
  if (whole)
    for (uint64_t at = 0; at < bytes; at += digest_piece) add(at);
  else
    for (uint64_t at : {uint64_t{0}, bytes - buffer.size()}) add(at);
  return fmt::format("{} {}\n", bytes, hex(hash.value()));
}

std::string files_text(const std::vector<std::filesystem::path>& files) {
  std::string text;
  uint64_t read = 0;
  for (const std::filesystem::path& path : files) {
    text += path.filename().string() + "\n";
    if (files.size() <= most_opened) text += file_text(path, read);
  }
  return text;
}

std::string checksums_text(const Dataset& part) {
  std::string text;
  auto checksums = part.checksums();
  if (!checksums) return text;
  for (const auto& column : checksums->blocks)
    for (uint64_t block : column) text += hex(block);
  return text;
}

std::string part_text(const Dataset& part, const std::string& files) {
  return fmt::format("{}\n{}\n{}\n{}\n", part.count(), to_text(part.spec()), checksums_text(part),
                     files);
}

std::string part_text(const Dataset& part) {
  return part_text(part, files_text(part.files()));
}

// Samples that are held out of the training data have its files, which are read once.
std::string validation_text(const DatasetPair& data) {
  bool same = data.val->files() == data.train->files();
  return part_text(*data.val, same ? "" : files_text(data.val->files()));
}

}  // namespace

std::string data_digest(const DatasetPair& data) {
  std::string train = part_text(*data.train), test = part_text(*data.test);
  if (!data.val) return digest({train, test});
  return digest({train, test, validation_text(data)});
}

}  // namespace spire
