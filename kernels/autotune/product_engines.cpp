#include "kernels/autotune/product_engines.h"

namespace spire::inline kernels {

bool ProductEngines::recall(const std::string& name) {
  if (!CudaProduct::recall(shape_, libraries_, name)) return false;
  algorithm_ = name;
  return true;
}

size_t ProductEngines::propose(size_t most) {
  proposed_ = CudaProduct::find(shape_, libraries_, most);
  // Only those that whoever has the text can make again.
  std::erase_if(proposed_, [&](const CudaProduct& product) {
    return !CudaProduct::recall(shape_, libraries_, product.algorithm());
  });
  return proposed_.size();
}

std::string ProductEngines::settle(size_t index) {
  return algorithm_ = proposed_[index].algorithm();
}

}  // namespace spire::inline kernels
