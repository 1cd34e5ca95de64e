#include "kernels/nvidia/convolution_key.h"

namespace spire::inline kernels {

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

}  // namespace spire::inline kernels
