// The algorithms for a product of matrices as engines among which one is chosen.
#pragma once
#include <functional>

#include "kernels/autotune/engine_choice.h"
#include "kernels/nvidia/cuda_product.h"

namespace spire::inline kernels {

class ProductEngines : public Engines {
 public:
  // Of a run of the product, as Engines::time.
  using Time = std::function<std::optional<float>(const CudaProduct& product)>;

  ProductEngines(const ProductShape& shape, CudaLibraries* libraries, Time time)
      : shape_(shape), libraries_(libraries), time_(std::move(time)) {}

  bool recall(const std::string& name) override;
  size_t propose(size_t most) override;
  std::optional<float> time(size_t index) override { return time_(proposed_[index]); }
  std::string settle(size_t index) override;

  std::span<const CudaProduct> proposed() const { return proposed_; }
  const std::string& algorithm() const { return algorithm_; }  // settled on

 private:
  ProductShape shape_;
  CudaLibraries* libraries_;
  Time time_;
  std::vector<CudaProduct> proposed_;
  std::string algorithm_;
};

}  // namespace spire::inline kernels
