// Rules of attention on a GPU: shapes that cuDNN and tensor cores take, the share of one call, and
// the key of the choice of an engine.
#pragma once
#include <cstddef>
#include <optional>
#include <string>

#include "kernels/nvidia/attention.h"

namespace spire::inline kernels {

struct CudnnOnDevice {
  int compute = 0;     // capability of the GPU: 90 is 9.0
  size_t version = 0;  // of cuDNN: 91900 is 9.19.0
};

// Returns true if cuDNN is to be asked; it may still have no engine. 16 bits, no dropout, heads of
// whole packs of 8 columns, 256 at most, more than one position, and the GPUs and versions whose
// backward has the same bits each time (attention_rules.cpp).
bool may_be_cudnns(const AttentionShape& shape, const CudnnOnDevice& on);

// Returns true if the native kernel is the one on tensor cores: 16 bits, heads of whole packs of 8
// columns, 128 at most, and code for compute capability 8.0 or later (compiled_for: 80).
bool on_tensor_cores(const AttentionShape& shape, int compiled_for);

// Samples and heads of one call of cuDNN; both divide those of the shape.
struct AttentionShare {
  int64_t batch, heads;
  bool operator==(const AttentionShare&) const = default;
};

// Returns the share of a pass that one call may compute: all of a forward; of a backward whole
// samples, else heads of one sample, as the workspace has room; none where one head is too much.
std::optional<AttentionShare> share_within(const AttentionShape& shape, size_t max_workspace);

// Returns "backward bf16 (16, 1024, 2304), 12 heads, causal": no dropout, which libraries lack.
std::string to_string(const AttentionShape& shape);

// All that the choice of an engine depends on. Checkpoints and caches have it as one line of text.
struct AttentionKey {
  std::string device;  // CudaLibraries::kind()
  AttentionShape shape;
  size_t max_workspace = 0;  // bytes
};
std::string to_string(const AttentionKey& key);

}  // namespace spire::inline kernels
