// Where things begin in memory that the engine lays out: in bytes, the same on every device, so
// that a plan does not depend on it.
#pragma once
#include <cstddef>

namespace spire::inline device {

// Of a tensor: in an arena, among weights, packed forms or gradients, or in a batch. Libraries are
// told so of their operands.
inline constexpr size_t tensor_alignment = 64;

// Of an arena, and of the workspace behind its tensors; also of each part of it that a kernel hands
// to a library. cuBLASLt and cuDNN ask for it.
inline constexpr size_t workspace_alignment = 256;

constexpr size_t align_up(size_t bytes, size_t alignment = tensor_alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

}  // namespace spire::inline device
