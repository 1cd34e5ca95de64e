// Which attention cuDNN may compute, and how much of it at a time.
#pragma once
#include <cstddef>
#include <optional>

#include "kernels/nvidia/attention.h"

namespace spire::inline kernels {

struct CudnnOnDevice {
  int compute = 0;     // capability of the GPU: 90 is 9.0
  size_t version = 0;  // of cuDNN: 91900 is 9.19.0
};

// Whether to ask cuDNN at all; it may still have no engine. 16 bits, no dropout, whose bits are
// Spire's own, heads of whole packs of 8 columns, 256 at most, and more than one position.
//
// The backward must have the same bits each time. Engines that add up dq by atomics are not told by
// their notes (9.19 has none at them), but by the graph: they want dq in fp32 beside the result.
// Where the graph has dq as a product's result alone, ds goes through the workspace, and each sum
// has one order; NVIDIA says so of compute capability 9.x, and for lengths that are no multiple of
// 128 it is right from 9.16 on. So other GPUs and versions have the own backward.
bool may_be_cudnns(const AttentionShape& shape, const CudnnOnDevice& on);

// Whether Spire's own kernel is the one on tensor cores: 16 bits, heads of whole packs of 8
// columns, 128 at most, and code for compute capability 8.0 or later (compiled_for: 80).
bool on_tensor_cores(const AttentionShape& shape, int compiled_for);

// Samples and heads of one run; both divide those of the shape.
struct AttentionShare {
  int64_t batch, heads;
  bool operator==(const AttentionShare&) const = default;
};

// All of a forward. Of a backward as much as has room for its ds, 16 bits a score with T rounded up
// to 128, and 4 bytes a row: whole samples, else heads of one. None where one head is too much.
std::optional<AttentionShare> share_within(const AttentionShape& shape, size_t max_workspace);

}  // namespace spire::inline kernels
