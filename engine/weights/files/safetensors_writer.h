// Writes tensors as safetensors, one file or several
// (https://huggingface.co/docs/safetensors, "Format").
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "engine/base/dtype.h"
#include "engine/base/write_file.h"
#include "engine/weights/files/tensor_to_write.h"

namespace spire::inline weights {

struct SafetensorsOptions {
  DType dtype = DType::f32;  // f32, bf16 or f16
  // Most bytes of tensors in a file; a larger tensor has a file of its own. 0: one file for all.
  // Several files are NAME-00001-of-00002.safetensors and so on, and NAME.safetensors.index.json,
  // which says where each tensor is, where `path` is NAME.safetensors.
  uint64_t shard_bytes = 0;
  Existing existing = Existing::keep;
  std::map<std::string, std::string> metadata = {};  // of every file, besides "format"
};

// Writes all of the files or none (with Existing::replace the old ones stay until all new ones have
// their names), tensor by tensor in parts of at most 8 MiB, with the metadata
// {"format": "pt"}, which transformers asks for. Returns their paths; of several the index is the
// last. Throws Error(checkpoint): also for a finite number that is too large for f16, and for two
// tensors of one name.
std::vector<std::filesystem::path> write_safetensors(const std::filesystem::path& path,
                                                     std::span<const TensorToWrite> tensors,
                                                     const SafetensorsOptions& options = {});

}  // namespace spire::inline weights
