#include "kernels/nvidia/attention_key.h"

namespace spire::inline kernels {

std::string to_string(const AttentionShape& s) {
  Shape packed{s.batch, s.length, 3 * s.width()};
  return fmt::format("{} {} {}, {} heads{}",
                     s.pass == AttentionPass::forward ? "forward" : "backward", name(s.dtype),
                     to_string(packed), s.heads, s.causal ? ", causal" : "");
}

std::string to_string(const AttentionKey& k) {
  return fmt::format("{}, attention {}, at most {} MiB", k.device, to_string(k.shape),
                     k.max_workspace >> 20);
}

}  // namespace spire::inline kernels
