// Limits of cuDNN's and Spire's attention kernels; attention_rules.h explains them.
#include "kernels/ops/attention/attention_rules.h"

#include <algorithm>

namespace spire::inline kernels {
namespace {

constexpr int64_t widest = 256, pack = 8, tile = 128;
constexpr int64_t widest_mma = 128;
constexpr int mma_since = 80;
constexpr size_t slack = size_t{64} << 10;  // what an engine wants beside ds
constexpr size_t forward_since = 91002, backward_since = 91600;

bool in_16_bits(const AttentionShape& s) {
  return s.dtype == DType::bf16 || s.dtype == DType::f16;
}

int64_t largest_divisor(int64_t of, int64_t most) {
  int64_t divisor = std::min(of, most);
  while (of % divisor != 0) --divisor;
  return divisor;
}

}  // namespace

bool may_be_cudnns(const AttentionShape& s, const CudnnOnDevice& on) {
  if (!in_16_bits(s)) return false;
  if (s.dropout > 0 || s.size % pack != 0 || s.size > widest || s.length < 2) return false;
  if (s.pass == AttentionPass::forward) return on.version >= forward_since;
  return on.version >= backward_since && on.compute / 10 == 9;
}

bool on_tensor_cores(const AttentionShape& s, int compiled_for) {
  return in_16_bits(s) && s.size % pack == 0 && s.size <= widest_mma && compiled_for >= mma_since;
}

std::optional<AttentionShare> share_within(const AttentionShape& s, size_t max_workspace) {
  if (s.pass == AttentionPass::forward) return AttentionShare{s.batch, s.heads};
  int64_t rounded = (s.length + tile - 1) / tile * tile;
  int64_t head_bytes = rounded * (2 * rounded + static_cast<int64_t>(sizeof(float)));
  if (max_workspace < slack) return std::nullopt;
  int64_t heads = static_cast<int64_t>(max_workspace - slack) / head_bytes;
  if (heads >= s.heads) return AttentionShare{largest_divisor(s.batch, heads / s.heads), s.heads};
  if (heads > 0) return AttentionShare{1, largest_divisor(s.heads, heads)};
  return std::nullopt;
}

}  // namespace spire::inline kernels
