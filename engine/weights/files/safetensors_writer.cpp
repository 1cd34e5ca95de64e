#include "engine/weights/files/safetensors_writer.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <set>
#include <type_traits>
#include <utility>

#include <nlohmann/json.hpp>

#include <spire/error.h>
#include <spire/text.h>

#include "engine/base/read_file.h"
#include "engine/weights/files/group_commit.h"
#include "engine/weights/files/safetensors_header.h"

namespace spire::inline weights {
namespace {

namespace fs = std::filesystem;

constexpr size_t piece_floats = size_t{1} << 21;

// One of the files to write.
struct File {
  fs::path path;
  std::vector<size_t> tensors;  // indices
  uint64_t bytes = 0;           // of the tensors
};

uint64_t bytes_of(const TensorToWrite& tensor, DType dtype) {
  return static_cast<uint64_t>(tensor.shape.elements()) * size_of(dtype);
}

std::string dtype_word(DType dtype) {
  require(dtype == DType::f32 || dtype == DType::bf16 || dtype == DType::f16, "safetensors of {}",
          name(dtype));
  return dtype == DType::f32 ? "F32" : dtype == DType::bf16 ? "BF16" : "F16";
}

// Fills files in the order of the tensors.
std::vector<File> divide(const fs::path& path, std::span<const TensorToWrite> tensors,
                         const SafetensorsOptions& options) {
  std::vector<File> files(1);
  for (size_t i = 0; i < tensors.size(); ++i) {
    uint64_t bytes = bytes_of(tensors[i], options.dtype), most = options.shard_bytes;
    bool full = most > 0 && !files.back().tensors.empty() && files.back().bytes + bytes > most;
    if (full) files.emplace_back();
    files.back().tensors.push_back(i);
    files.back().bytes += bytes;
  }
  if (files.size() == 1) {
    files[0].path = path;
    return files;
  }
  for (size_t i = 0; i < files.size(); ++i)
    files[i].path =
        path.parent_path() / fmt::format("{}-{:05}-of-{:05}{}", path.stem().string(), i + 1,
                                         files.size(), path.extension().string());
  return files;
}

void check_names(std::span<const TensorToWrite> tensors) {
  std::set<std::string> names;
  for (const TensorToWrite& tensor : tensors)
    if (!names.insert(tensor.name).second)
      fail(Category::checkpoint, "two tensors would be named '{}'", printable(tensor.name));
}

template <typename T>
T rounded(float value, const std::string& name) {
  T result(value);
  if (std::is_same_v<T, float16> && std::isfinite(value) && !std::isfinite(float{result}))
    fail(Category::checkpoint,
         "'{}' has the value {:.6g}, too large for fp16; write bf16 or fp32 in its place",
         printable(name), value);
  return result;
}

class Pieces {
 public:
  explicit Pieces(DType dtype) : dtype_(dtype), floats_(piece_floats) {}

  void write(const TensorToWrite& tensor, AtomicWriter& file) {
    int64_t count = tensor.shape.elements();
    for (int64_t at = 0; at < count;) {
      auto part =
          std::span(floats_).first(std::min(floats_.size(), static_cast<size_t>(count - at)));
      tensor.read(at, part);
      with_any_float_type(dtype_, [&](auto type) { put(tensor, part, type, file); });
      at += std::ssize(part);
    }
  }

 private:
  template <typename T>
  void put(const TensorToWrite& tensor, std::span<float> part, T, AtomicWriter& file) {
    if constexpr (std::is_same_v<T, float>) {
      file.write({reinterpret_cast<const char*>(part.data()), part.size_bytes()});
    } else {
      halves_.resize(part.size());
      for (size_t i = 0; i < part.size(); ++i) halves_[i] = rounded<T>(part[i], tensor.name).bits;
      file.write({reinterpret_cast<const char*>(halves_.data()), halves_.size() * 2});
    }
  }

  DType dtype_;
  std::vector<float> floats_;
  std::vector<uint16_t> halves_;
};

void write_file(const File& file, std::span<const TensorToWrite> tensors,
                const SafetensorsOptions& options, Pieces& pieces, AtomicWriter& writer) {
  std::vector<StoredTensor> stored;
  uint64_t at = 0;
  for (size_t i : file.tensors) {
    uint64_t bytes = bytes_of(tensors[i], options.dtype);
    stored.push_back(
        {tensors[i].name, dtype_word(options.dtype), tensors[i].shape, at, at + bytes});
    at += bytes;
  }
  auto metadata = options.metadata;
  metadata["format"] = "pt";
  writer.write(safetensors_header(stored, metadata));
  for (size_t i : file.tensors) pieces.write(tensors[i], writer);
}

std::string index_text(const std::vector<File>& files, std::span<const TensorToWrite> tensors) {
  nlohmann::ordered_json index;
  uint64_t total = 0;
  for (const File& file : files) total += file.bytes;
  index["metadata"]["total_size"] = total;
  for (const File& file : files)
    for (size_t i : file.tensors)
      index["weight_map"][tensors[i].name] = file.path.filename().string();
  return index.dump(2) + "\n";
}

// Whether the companion is there already as it would be written.
bool is_written(const CompanionFile& companion) {
  return read_file_if_there(companion.path, Category::config) == companion.text;
}

// A single file needs no more than its rename.
std::vector<fs::path> commit_all(
    const std::vector<std::pair<std::unique_ptr<AtomicWriter>, fs::path>>& writers,
    Existing existing) {
  if (writers.size() == 1) {
    writers[0].first->commit();
    return {writers[0].second};
  }
  GroupCommit group(writers.back().second, existing);
  for (const auto& [writer, path] : writers) group.commit(*writer, path);
  return group.complete();
}

}  // namespace

std::vector<fs::path> write_safetensors(const fs::path& path,
                                        std::span<const TensorToWrite> tensors,
                                        const SafetensorsOptions& options) {
  check_names(tensors);
  std::vector<File> files = divide(path, tensors, options);
  Pieces pieces(options.dtype);
  std::vector<std::pair<std::unique_ptr<AtomicWriter>, fs::path>> writers;
  auto open = [&](const fs::path& name) -> AtomicWriter& {
    writers.emplace_back(std::make_unique<AtomicWriter>(name, Category::config, options.existing),
                         name);
    return *writers.back().first;
  };
  const auto& companion = options.companion;
  if (companion && !is_written(*companion)) open(companion->path).write(companion->text);
  for (const File& file : files) write_file(file, tensors, options, pieces, open(file.path));
  if (files.size() > 1) {
    fs::path index = path.string() + ".index.json";
    open(index).write(index_text(files, tensors));
  }
  std::vector<fs::path> written = commit_all(writers, options.existing);
  if (options.existing == Existing::replace)
    sweep_leftovers(path, companion ? companion->path : fs::path());
  return written;
}

}  // namespace spire::inline weights
