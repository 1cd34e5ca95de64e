// Rules of attention on a GPU: shapes that cuDNN and tensor cores take, how large a share one call
// of cuDNN computes, and the key under which a choice of an engine is stored.
#pragma once
#include <cstddef>
#include <optional>
#include <string>

#include "kernels/cuda/attention.h"

namespace spire {

struct CudnnOnDevice {
  int compute = 0;     // capability of the GPU: 90 is 9.0
  size_t version = 0;  // of cuDNN: 91900 is 9.19.0
};

// Returns true if cuDNN is to be asked for an engine; it may still have none. True for 16-bit
// dtypes, no dropout, no packed documents, heads of at most 256 columns in whole packs of 8, more
// than one position, in a backward as many heads of keys as of queries, and GPUs and versions of
// cuDNN whose backward has the same bits each time (attention_rules.cpp).
bool may_be_cudnns(const AttentionShape& shape, const CudnnOnDevice& on);

// Returns true if the native kernel is the one on tensor cores: 16 bits, heads of whole packs of 8
// columns, 128 at most, and code for compute capability 8.0 or later (compiled_for: 80).
bool on_tensor_cores(const AttentionShape& shape, int compiled_for);

// Numbers of samples and heads that one call of cuDNN computes; they divide those of the shape.
struct AttentionShare {
  int64_t batch, heads;
  bool operator==(const AttentionShare&) const = default;
};

// Returns the share of a pass that one call computes: all of a forward; of a backward as many whole
// samples as the workspace allows, else heads of one sample; none if even one head needs more.
std::optional<AttentionShare> share_within(const AttentionShape& shape, size_t max_workspace);

// Returns "backward bf16 (16, 1024, 2304), 12 heads, causal". It omits dropout.
std::string to_string(const AttentionShape& shape);

// All that the choice of an engine depends on. Checkpoints and caches store it as one line of text.
struct AttentionKey {
  std::string device;  // CudaLibraries::kind()
  AttentionShape shape;
  size_t max_workspace = 0;  // bytes
};
std::string to_string(const AttentionKey& key);

}  // namespace spire
