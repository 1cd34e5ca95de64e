// Writes tensors to files of weights: safetensors (https://huggingface.co/docs/safetensors,
// "Format") and NumPy's .npz.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <spire/tensor.h>

#include "engine/base/write_file.h"

namespace spire {

struct TensorToWrite {  // its values are read from their source in parts
  std::string name;
  Shape shape;
  // Copies elements [begin, begin + out.size()), row-major. Parts are asked for in order.
  std::function<void(int64_t begin, std::span<float> out)> read;
};

// Reads all of a tensor in parts of at most 8 MiB; calls take(part) for each part, a
// std::span<float> in `memory`, which is scratch.
template <typename Take>
void read_in_parts(const TensorToWrite& tensor, std::vector<float>& memory, const Take& take) {
  constexpr int64_t most = int64_t{1} << 21;
  int64_t count = tensor.shape.elements();
  for (int64_t at = 0; at < count; at += std::ssize(memory)) {
    memory.resize(static_cast<size_t>(std::min(most, count - at)));
    tensor.read(at, memory);
    take(std::span(memory));
  }
}

// A text file to write beside the tensors, such as the config.json of Hugging Face's classes.
struct CompanionFile {
  std::filesystem::path path;  // in their folder
  std::string text;
};

struct SafetensorsOptions {
  DType dtype = DType::f32;  // f32, bf16 or f16
  // Most bytes of tensors in a file; a larger tensor has a file of its own. 0: one file for all. If
  // `path` is NAME.safetensors, several files are NAME-00001-of-00002.safetensors and so on, and
  // NAME.safetensors.index.json, which says where each tensor is.
  uint64_t shard_bytes = 0;
  Existing existing = Existing::keep;
  std::map<std::string, std::string> metadata = {};  // of every file, besides "format"
  std::optional<CompanionFile> companion = {};       // stays if it has this text already
};

// Writes all of the files or none (after an error the old ones have their names again), tensor by
// tensor in parts of at most 8 MiB, with the metadata {"format": "pt"}, which transformers asks
// for. Where there are several, a kill while they get their names leaves a folder without the index
// (the single file of tensors), never new files beside old ones (GroupCommit); the next call with
// Existing::replace removes what it left. Returns the paths written: the companion first, the index
// last. Throws Error(config) for files that cannot be written, Error(device) for a full disk,
// Error(checkpoint) for a finite number that is too large for f16 and for two tensors of one name.
std::vector<std::filesystem::path> write_safetensors(const std::filesystem::path& path,
                                                     std::span<const TensorToWrite> tensors,
                                                     const SafetensorsOptions& options = {});

// Returns such a file of fp32 numbers, in memory.
std::vector<std::byte> safetensors_bytes(std::span<const TensorToWrite> tensors,
                                         const std::map<std::string, std::string>& metadata);

// Writes tensors as .npz: a zip archive, not compressed, with a .npy file for each tensor
// (https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html). Writes the file whole
// or not at all, in parts of at most 8 MiB, as little-endian fp32 in C order. Throws Error(config)
// if the file cannot be written, Error(device) for a full disk.
void write_npz(const std::filesystem::path& path, std::span<const TensorToWrite> tensors,
               Existing existing = Existing::keep);

}  // namespace spire
