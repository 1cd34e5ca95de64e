// Limits of cuDNN's and Spire's attention kernels.
//
// cuDNN's backward must have the same bits each time. Engine notes do not reveal engines that sum
// dq by atomics (cuDNN 9.19 has no notes on them), but the graph does: such engines want dq in fp32
// beside the result. Where dq is only the result of a product, ds goes through the workspace and
// each sum has one order. NVIDIA documents that for compute capability 9.x. Lengths that are no
// multiple of 128 are right from 9.16 on. Other GPUs and versions use Spire's backward.
#include "kernels/ops/attention/attention_rules.h"

#include <algorithm>

#include "engine/base/fail.h"

namespace spire {
namespace {

constexpr int64_t widest = 256, pack = 8;  // columns of a head
constexpr int64_t tile = 128;              // rows of a tile of cuDNN's backward
constexpr int64_t widest_mma = 128;
constexpr int mma_since = 80;
constexpr size_t slack = size_t{64} << 10;  // what an engine needs beside ds
constexpr size_t since = 91002, parts_of_tiles_since = 91600;

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
  if (!in_16_bits(s) || s.documents) return false;
  if (s.is_grouped() && s.pass == AttentionPass::backward) return false;
  if (s.dropout > 0 || s.size % pack != 0 || s.size > widest || s.length < 2) return false;
  if (on.version < since) return false;
  if (s.pass == AttentionPass::forward) return true;
  return on.compute / 10 == 9 && (s.length % tile == 0 || on.version >= parts_of_tiles_since);
}

bool on_tensor_cores(const AttentionShape& s, int compiled_for) {
  return in_16_bits(s) && s.size % pack == 0 && s.size <= widest_mma && compiled_for >= mma_since;
}

std::optional<AttentionShare> share_within(const AttentionShape& s, size_t max_workspace) {
  if (s.pass == AttentionPass::forward) return AttentionShare{s.batch, s.heads};
  // A head's workspace: ds, 16 bits a score with T rounded up to a tile, and 4 bytes a row.
  int64_t rounded = (s.length + tile - 1) / tile * tile;
  int64_t head_bytes = rounded * (2 * rounded + static_cast<int64_t>(sizeof(float)));
  if (max_workspace < slack) return std::nullopt;
  int64_t heads = static_cast<int64_t>(max_workspace - slack) / head_bytes;
  if (heads >= s.heads) return AttentionShare{largest_divisor(s.batch, heads / s.heads), s.heads};
  if (heads > 0) return AttentionShare{1, largest_divisor(s.heads, heads)};
  return std::nullopt;
}

// The texts are keys of saved choices: another wording forgets them all.
std::string to_string(const AttentionShape& s) {
  Shape packed{s.batch, s.length, s.packed_width()};
  std::string groups = s.is_grouped() ? fmt::format(" ({} of keys)", s.kv_heads) : "";
  return fmt::format("{} {} {}, {} heads{}{}{}",
                     s.pass == AttentionPass::forward ? "forward" : "backward", to_string(s.dtype),
                     to_string(packed), s.heads, groups, s.causal ? ", causal" : "",
                     s.documents ? ", documents" : "");
}

std::string to_string(const AttentionKey& k) {
  return fmt::format("{}, attention {}, at most {} MiB", k.device, to_string(k.shape),
                     k.max_workspace >> 20);
}

}  // namespace spire
