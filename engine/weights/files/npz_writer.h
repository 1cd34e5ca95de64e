// Writes tensors as NumPy's .npz: a zip archive, not compressed, with a .npy file for each tensor
// (https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html).
#pragma once
#include <filesystem>
#include <span>

#include "engine/base/write_file.h"
#include "engine/weights/files/tensor_to_write.h"

namespace spire {

// Writes the file whole or not at all, in parts of at most 8 MiB, as little-endian fp32 in C order.
// Throws Error(config) if the file cannot be written, Error(device) for a full disk.
void write_npz(const std::filesystem::path& path, std::span<const TensorToWrite> tensors,
               Existing existing = Existing::keep);

}  // namespace spire
