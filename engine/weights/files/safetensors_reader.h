// Reads tensors of safetensors files (https://huggingface.co/docs/safetensors, "Format").
#pragma once
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/checkpoint/training_state.h"

namespace spire {

class SafetensorsShard;

// Open file or files, whose headers have been checked. Nothing is mapped or read ahead: read()
// reads what it is asked for. Any thread may read.
class SafetensorsReader : public SavedTensors {
 public:
  // path: a file; an index (.json) of several files beside it; or a folder that holds
  // model.safetensors or model.safetensors.index.json. Throws Error(checkpoint), with the place in
  // a damaged file.
  explicit SafetensorsReader(const std::filesystem::path& path);
  ~SafetensorsReader() override;

  // One group, of all tensors in the order of their names, whatever their types.
  std::vector<TensorGroup> groups() const override { return {{"", tensors_}}; }
  // Returns __metadata__, of several files that of the first.
  const std::map<std::string, std::string>& metadata() const;
  const std::filesystem::path& path() const { return path_; }  // of the file or index
  // Converts F32, F16, BF16 and F64 (rounded) to float. Throws Error(checkpoint) for other types.
  void read(size_t group, size_t tensor, int64_t begin, std::span<float> out) const override;

 private:
  struct Place {
    size_t shard, tensor;
  };
  void open_file(const std::filesystem::path& path);
  void open_index(const std::filesystem::path& path);
  void sort_tensors();

  std::filesystem::path path_;
  std::vector<std::unique_ptr<SafetensorsShard>> shards_;
  std::vector<TensorEntry> tensors_;
  std::vector<Place> places_;  // of each of tensors_
};

// Returns whether the path names safetensors: by its suffix, or by what a folder holds. A folder
// with checkpoints is a run's folder, whatever else is in it.
bool is_safetensors(const std::filesystem::path& path);

}  // namespace spire
