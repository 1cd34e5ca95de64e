#include <spire/kernels/own_engine.h>

#include <algorithm>

namespace spire {
bool EnginesAndOwn::recall(const std::string& name) {
  is_own_ = time_own_ && name == name_;
  return is_own_ || library_.recall(name);
}

size_t EnginesAndOwn::propose(size_t most) {
  of_library_ = library_.propose(std::max<size_t>(1, most - 1));
  return std::min(most, of_library_ + (time_own_ ? 1 : 0));
}

std::optional<float> EnginesAndOwn::time(size_t index) {
  return index < of_library_ ? library_.time(index) : time_own_();
}

std::string EnginesAndOwn::settle(size_t index) {
  is_own_ = index >= of_library_;
  return is_own_ ? name_ : library_.settle(index);
}

}  // namespace spire
