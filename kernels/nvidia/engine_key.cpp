#include "kernels/nvidia/engine_key.h"

namespace spire::inline kernels {

// The texts are keys of saved choices: another wording forgets them all.
std::string to_string(const ConvolutionShape& s) {
  constexpr std::string_view passes[] = {"forward", "backward data", "backward weights"};
  const auto& [kernel, stride, padding, dilation] = s.window;
  return fmt::format("{} {} {} to {}, kernel {}, stride {}, padding {}, dilation {}, groups {}{}{}",
                     passes[static_cast<size_t>(s.pass)], name(s.dtype), to_string(s.x),
                     to_string(s.y), to_string(kernel), to_short_string(stride),
                     to_short_string(padding), to_short_string(dilation), s.groups,
                     s.bias ? ", bias" : "", s.relu ? ", relu" : "");
}

std::string to_string(const ConvolutionKey& k) {
  return fmt::format("{}, convolution {}, {}, at most {} MiB", k.device, to_string(k.shape),
                     k.tensor_cores ? "tensor cores" : "no tensor cores", k.max_workspace >> 20);
}

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
