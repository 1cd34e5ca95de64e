#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

#include <nlohmann/json.hpp>

#include "engine/base/fail.h"
#include "engine/base/read_file.h"
#include "engine/base/text.h"
#include "engine/weights/files/safetensors_header.h"
#include "engine/weights/files/weight_writers.h"

namespace spire {
namespace {

namespace fs = std::filesystem;

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
          to_string(dtype));
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

// Writes numbers in a type for files.
class NumberWriter {
 public:
  explicit NumberWriter(DType dtype) : dtype_(dtype) {}

  void write(const TensorToWrite& tensor, AtomicWriter& file) {
    read_in_parts(tensor, floats_, [&](std::span<const float> part) {
      with_any_float_type(dtype_, [&](auto type) { put(tensor, part, type, file); });
    });
  }

 private:
  template <typename T>
  void put(const TensorToWrite& tensor, std::span<const float> part, T, AtomicWriter& file) {
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

// indices: of the tensors in the file.
std::string header_of(std::span<const TensorToWrite> tensors, const std::vector<size_t>& indices,
                      DType dtype, std::map<std::string, std::string> metadata) {
  std::vector<StoredTensor> stored;
  uint64_t at = 0;
  for (size_t i : indices) {
    uint64_t bytes = bytes_of(tensors[i], dtype);
    stored.push_back({tensors[i].name, dtype_word(dtype), tensors[i].shape, at, at + bytes});
    at += bytes;
  }
  metadata["format"] = "pt";
  return safetensors_header(stored, metadata);
}

void write_file(const File& file, std::span<const TensorToWrite> tensors,
                const SafetensorsOptions& options, NumberWriter& numbers, AtomicWriter& writer) {
  writer.write(header_of(tensors, file.tensors, options.dtype, options.metadata));
  for (size_t i : file.tensors) numbers.write(tensors[i], writer);
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

// Suffix of files that give way to new ones. A kill leaves them; the next write removes them.
constexpr std::string_view former_suffix = ".former";

fs::path folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : ".";
}

fs::path former_of(fs::path path) {
  path += former_suffix;
  return path;
}

// Gives the file a second name. File systems without links get a copy. Returns false if there is no
// file.
bool keep(const fs::path& path) {
  fs::path former = former_of(path);
  std::error_code error;
  if (!fs::exists(path, error)) return false;
  fs::remove(former, error);
  fs::create_hard_link(path, former, error);
  if (error) fs::copy_file(path, former, error);
  if (error)
    fail(Category::config, "cannot keep {} as {} until all files are written: {}", path.string(),
         former.string(), error.message());
  return true;
}

constexpr std::string_view digits = "0123456789";

// NAME-00001-of-00002.ENDING
bool is_shard(const std::string& name, const fs::path& path) {
  std::string stem = path.stem().string() + "-", ending = path.extension().string();
  if (!name.starts_with(stem) || !name.ends_with(ending)) return false;
  if (name.size() < stem.size() + ending.size()) return false;
  std::string_view numbers(name.data() + stem.size(), name.size() - stem.size() - ending.size());
  size_t of = numbers.find_first_not_of(digits);
  if (of == numbers.npos || !numbers.substr(of).starts_with("-of-")) return false;
  std::string_view count = numbers.substr(of + 4);
  return of >= 5 && count.size() >= 5 && count.find_first_not_of(digits) == count.npos;
}

// Renames a set of files that belong together, so that readers never see a mix of old and new ones,
// not even after an error, a kill or a power cut. One of them, the leading file, is what readers
// open first. It loses its name before any other file gets one, and gets its new name last: in
// between there is no group at all.
class GroupCommit {
 public:
  // With Existing::replace a file at `leading` is renamed to "<leading>.former".
  GroupCommit(fs::path leading, Existing existing);
  // Unless complete() was called, the new files lose their names to those that had them before.
  ~GroupCommit();
  GroupCommit(const GroupCommit&) = delete;
  GroupCommit& operator=(const GroupCommit&) = delete;

  // Commits the writer of `path`; the leading file comes last. Throws Error(config).
  void commit(AtomicWriter& writer, const fs::path& path);

  // Removes the files that gave way; returns the new ones, in the order of their commits.
  std::vector<fs::path> complete();

 private:
  struct Member {
    fs::path path;
    bool had_former;
  };

  fs::path leading_;
  bool aside_ = false;  // the old leading file has its second name alone
  std::vector<Member> done_;
  bool complete_ = false;
};

GroupCommit::GroupCommit(fs::path leading, Existing existing) : leading_(std::move(leading)) {
  std::error_code error;
  if (existing == Existing::keep || !fs::exists(leading_, error)) return;
  require_replaceable(leading_, Category::config);
  fs::rename(leading_, former_of(leading_), error);
  if (error)
    fail(Category::config, "cannot keep {} as {} until all files are written: {}",
         leading_.string(), former_of(leading_).string(), error.message());
  aside_ = true;
  sync_directory(folder_of(leading_), Category::config);
}

GroupCommit::~GroupCommit() {
  if (complete_) return;
  std::error_code error;
  for (const Member& member : done_)
    if (member.had_former) {
      fs::rename(former_of(member.path), member.path, error);
    } else {
      fs::remove(member.path, error);
    }
  if (aside_) fs::rename(former_of(leading_), leading_, error);
}

void GroupCommit::commit(AtomicWriter& writer, const fs::path& path) {
  bool had_former = path != leading_ && keep(path);
  try {
    writer.commit();
  } catch (...) {
    std::error_code error;
    if (had_former) fs::remove(former_of(path), error);
    throw;
  }
  done_.push_back({path, had_former});
}

std::vector<fs::path> GroupCommit::complete() {
  complete_ = true;
  std::vector<fs::path> paths;
  std::error_code error;
  for (const Member& member : done_) {
    if (member.had_former) fs::remove(former_of(member.path), error);
    paths.push_back(member.path);
  }
  if (aside_) fs::remove(former_of(leading_), error);
  return paths;
}

// Removes what killed writes of `path` left in its folder: "<name>.former" and "<name>.tmp" of the
// file, its index and shards of any number (SafetensorsOptions), and of `companion`, if not empty.
// What cannot be removed stays.
void sweep_leftovers(const fs::path& path, const fs::path& companion) {
  std::string name = path.filename().string();
  std::error_code error;
  std::vector<fs::path> leftovers;
  for (const auto& entry : fs::directory_iterator(folder_of(path), error)) {
    std::string ending = entry.path().extension().string(), base = entry.path().stem().string();
    if (ending != former_suffix && ending != temporary_suffix) continue;
    bool ours = base == name || base == name + ".index.json" || is_shard(base, path) ||
                (!companion.empty() && base == companion.filename().string());
    if (ours && fs::is_regular_file(entry.symlink_status(error))) leftovers.push_back(entry);
  }
  for (const fs::path& leftover : leftovers) fs::remove(leftover, error);
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
  NumberWriter numbers(options.dtype);
  std::vector<std::pair<std::unique_ptr<AtomicWriter>, fs::path>> writers;
  auto open = [&](const fs::path& name) -> AtomicWriter& {
    writers.emplace_back(std::make_unique<AtomicWriter>(name, Category::config, options.existing),
                         name);
    return *writers.back().first;
  };
  const auto& companion = options.companion;
  if (companion && !is_written(*companion)) open(companion->path).write(companion->text);
  for (const File& file : files) write_file(file, tensors, options, numbers, open(file.path));
  if (files.size() > 1) {
    fs::path index = path.string() + ".index.json";
    open(index).write(index_text(files, tensors));
  }
  std::vector<fs::path> written = commit_all(writers, options.existing);
  if (options.existing == Existing::replace)
    sweep_leftovers(path, companion ? companion->path : fs::path());
  return written;
}

std::vector<std::byte> safetensors_bytes(std::span<const TensorToWrite> tensors,
                                         const std::map<std::string, std::string>& metadata) {
  check_names(tensors);
  std::vector<size_t> indices(tensors.size());
  std::iota(indices.begin(), indices.end(), size_t{0});
  std::string header = header_of(tensors, indices, DType::f32, metadata);
  auto as_bytes = std::as_bytes(std::span(header));
  std::vector<std::byte> file;
  size_t size = as_bytes.size();
  for (const TensorToWrite& tensor : tensors) size += bytes_of(tensor, DType::f32);
  file.reserve(size);
  file.assign(as_bytes.begin(), as_bytes.end());
  std::vector<float> values;
  for (const TensorToWrite& tensor : tensors) {
    values.resize(static_cast<size_t>(tensor.shape.elements()));
    tensor.read(0, values);
    auto numbers = std::as_bytes(std::span(values));
    file.insert(file.end(), numbers.begin(), numbers.end());
  }
  return file;
}

}  // namespace spire
