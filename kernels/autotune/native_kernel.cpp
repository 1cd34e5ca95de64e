#include "kernels/autotune/native_kernel.h"

#include <algorithm>

namespace spire::inline kernels {
bool EnginesAndNative::recall(const std::string& name) {
  is_native_ = time_native_ && name == name_;
  return is_native_ || library_.recall(name);
}

size_t EnginesAndNative::propose(size_t most) {
  of_library_ = library_.propose(std::max<size_t>(1, most - 1));
  return std::min(most, of_library_ + (time_native_ ? 1 : 0));
}

std::optional<float> EnginesAndNative::time(size_t index) {
  return index < of_library_ ? library_.time(index) : time_native_();
}

std::string EnginesAndNative::settle(size_t index) {
  is_native_ = index >= of_library_;
  return is_native_ ? name_ : library_.settle(index);
}

}  // namespace spire::inline kernels
