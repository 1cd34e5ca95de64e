// Limits of attention kernels on a GPU: cuDNN's, and Spire's own on tensor cores.
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
// The backward must have the same bits each time. Engine notes do not reveal engines that sum dq by
// atomics (cuDNN 9.19 has none on them); the graph does: such engines want dq in fp32 beside the
// result. Where dq is only the result of a product, ds goes through the workspace and each sum has
// one order. NVIDIA documents that for compute capability 9.x, and lengths that are no multiple of
// 128 are right from 9.16 on. Other GPUs and versions use Spire's backward.
bool may_be_cudnns(const AttentionShape& shape, const CudnnOnDevice& on);

// Whether Spire's own kernel is the one on tensor cores: 16 bits, heads of whole packs of 8
// columns, 128 at most, and code for compute capability 8.0 or later (compiled_for: 80).
bool on_tensor_cores(const AttentionShape& shape, int compiled_for);

// Samples and heads of one call of cuDNN; both divide those of the shape.
struct AttentionShare {
  int64_t batch, heads;
  bool operator==(const AttentionShare&) const = default;
};

// Returns the share of a pass that one call may compute: all of a forward; of a backward as much as
// the workspace has room for ds, 16 bits a score with T rounded up to 128, and 4 bytes a row. Whole
// samples, else heads of one sample; none where one head is too much.
std::optional<AttentionShare> share_within(const AttentionShape& shape, size_t max_workspace);

}  // namespace spire::inline kernels
