#include "engine/checkpoint/checkpoint_file.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstring>
#include <functional>
#include <utility>

#include "engine/base/fail.h"
#include "engine/base/hash.h"
#include "engine/base/hdf5_program.h"
#include "engine/base/read_file.h"
#include "engine/base/write_file.h"
#include "engine/checkpoint/checkpoint_hdf5.h"

namespace spire {
namespace {

static_assert(std::endian::native == std::endian::little, "files hold floats as memory does");

std::string_view bytes_of(std::span<const float> values) {
  return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
}

using WriteAt = std::function<void(uint64_t offset, std::string_view bytes)>;

// Writes one tensor, piece by piece, and returns its checksum.
std::string write_tensor(const WriteAt& write, const TensorExtent& extent,
                         const SavedTensors& tensors, size_t group, size_t tensor,
                         std::span<float> piece) {
  Hash64 hash;
  size_t count = extent.bytes / sizeof(float);
  for (size_t at = 0; at < count; at += piece.size()) {
    std::span<float> part = piece.first(std::min(piece.size(), count - at));
    tensors.read(group, tensor, static_cast<int64_t>(at), part);
    hash.add(part.data(), part.size_bytes());
    write(extent.offset + at * sizeof(float), bytes_of(part));
  }
  return hex(hash.value());
}

// Drops tensors without bytes, which have no offset either.
std::vector<TensorExtent> in_order_of_file(std::vector<TensorExtent> extents) {
  std::erase_if(extents, [](const TensorExtent& extent) { return extent.bytes == 0; });
  std::sort(extents.begin(), extents.end(),
            [](const auto& a, const auto& b) { return a.offset < b.offset; });
  return extents;
}

// Writes the bytes between the tensors, then the header with their checksum.
void write_rest(const WriteAt& write, const CheckpointLayout& layout) {
  Header header{layout.block, layout.structure.bytes(), "", in_order_of_file(layout.extents)};
  Hash64 hash;
  std::array<char, 1 << 14> piece;
  auto write_range = [&](uint64_t begin, uint64_t end) {
    while (begin < end) {
      size_t count = std::min<uint64_t>(piece.size(), end - begin);
      layout.structure.read(begin, count, piece.data());
      hash.add(piece.data(), count);
      write(begin, {piece.data(), count});
      begin += count;
    }
  };
  // The checksum covers the gaps between the tensors, in the order of the file.
  uint64_t at = header.block;
  for (const TensorExtent& extent : header.extents) {
    write_range(at, extent.offset);
    at = extent.offset + extent.bytes;
  }
  write_range(at, header.file_bytes);
  header.structure = hex(hash.value());
  write(0, to_text(header));
}

void write_parts(const WriteAt& write, const StateMetadata& metadata, const SavedTensors& tensors,
                 std::span<float> piece) {
  require(!piece.empty(), "a checkpoint in pieces of nothing");
  std::vector<TensorGroup> groups = tensors.groups();
  size_t count = 0;
  for (const TensorGroup& group : groups) count += group.tensors.size();
  std::vector<std::string> checksums(count, std::string(16, '0'));
  // A layout with zeros for checksums tells the offsets; the tensors' bytes give the checksums.
  CheckpointLayout places = lay_out_checkpoint(metadata, groups, checksums);
  size_t i = 0;
  for (size_t g = 0; g < groups.size(); ++g) {
    for (size_t t = 0; t < groups[g].tensors.size(); ++t, ++i)
      checksums[i] = write_tensor(write, places.extents[i], tensors, g, t, piece);
  }
  // The final layout has them as attributes, of the same size, so that nothing has moved.
  CheckpointLayout layout = lay_out_checkpoint(metadata, groups, checksums);
  for (i = 0; i < count; ++i) {
    require(layout.extents[i].offset == places.extents[i].offset,
            "checkpoint: {} moved with its checksum", layout.extents[i].name);
  }
  write_rest(write, layout);
}

}  // namespace

// AtomicWriter writes under a temporary name, then fsync, rename and fsync of the directory.
void write_checkpoint(const std::filesystem::path& path, const StateMetadata& metadata,
                      const SavedTensors& tensors, std::span<float> piece) {
  AtomicWriter file(path, Category::checkpoint);
  write_parts([&](uint64_t offset, std::string_view bytes) { file.write_at(offset, bytes); },
              metadata, tensors, piece);
  file.commit();
}

std::vector<std::byte> checkpoint_bytes(const StateMetadata& metadata, const SavedTensors& tensors,
                                        std::span<float> piece) {
  std::vector<std::byte> file;
  auto write = [&](uint64_t offset, std::string_view bytes) {
    file.resize(std::max<size_t>(file.size(), offset + bytes.size()));
    std::memcpy(file.data() + offset, bytes.data(), bytes.size());
  };
  write_parts(write, metadata, tensors, piece);
  return file;
}

void write_checkpoint(const std::filesystem::path& path, const TrainingState& state) {
  std::vector<float> piece(checkpoint_piece);
  write_checkpoint(path, state, state, piece);
}

namespace {

// Returns body(); its errors name the checkpoint.
template <typename Body>
auto naming(const std::filesystem::path& path, const Body& body) {
  try {
    return body();
  } catch (const UnreadableFile&) {
    throw;  // its message names the file
  } catch (const std::exception& error) {
    Category category = classify(error).category();
    // What the machine lacks says nothing about the file.
    bool environment = category == Category::device || category == Category::out_of_memory;
    fail(environment ? category : Category::checkpoint, "checkpoint {}: {}", path.string(),
         error.what());
  }
}

}  // namespace

// Good checksums do not prove that libhdf5 survives the file: whoever forges a file can compute
// them.
CheckpointFile::CheckpointFile(const std::filesystem::path& path)
    : path_(path), bytes_(std::make_unique<CheckpointBytes>(path)) {
  Header header = naming(path, [&] { return verify_header(*bytes_); });
  checked_ = h5::read_by_program(path, {}, Category::checkpoint);
  CheckpointContents contents = naming(path, [&] { return read_contents(path, header); });
  metadata_ = std::move(contents.metadata);
  groups_ = std::move(contents.groups);
  offsets_ = std::move(contents.offsets);
}

void CheckpointFile::read(size_t group, size_t tensor, int64_t begin, std::span<float> out) const {
  const TensorEntry& entry = groups_.at(group).tensors.at(tensor);
  require(begin >= 0 && begin + std::ssize(out) <= entry.shape.elements(),
          "checkpoint: {} has not so many values", entry.name);
  uint64_t offset = offsets_[group][tensor] + static_cast<uint64_t>(begin) * sizeof(float);
  try {
    bytes_->read(offset, {reinterpret_cast<char*>(out.data()), out.size_bytes()});
  } catch (const UnreadableFile&) {
    throw;  // its message names the file
  } catch (const Error& error) {
    fail(Category::checkpoint, "checkpoint {}: {}", path_.string(), error.what());
  }
}

std::optional<std::string> unchecked_warning(const std::filesystem::path& path, bool checked) {
  static std::atomic<bool> given{false};
  if (checked || given.exchange(true)) return {};
  return h5::unchecked_words(path);
}

TrainingState read_checkpoint(const std::filesystem::path& path) {
  CheckpointFile file(path);
  TrainingState state;
  static_cast<StateMetadata&>(state) = file.metadata();
  read_all(file, state);
  return state;
}

}  // namespace spire
