// The choice of a product's algorithm: measured on matrices of the real size, outside of steps.
#include <algorithm>
#include <memory>

#include "engine/base/fail.h"
#include "kernels/cuda/engine_trial.h"
#include "kernels/cuda/libraries.h"
#include "kernels/cuda/product.h"
#include "kernels/cuda/tuning.h"

namespace spire {
namespace {

// Tries algorithms on matrices of the real size.
class ProductTrial {
 public:
  // Throws Error(out_of_memory). REQUIRES: as EngineTrial.
  ProductTrial(const ProductShape& s, DeviceId device, size_t workspace) : trial_(device) {
    int64_t rows_of_a = s.batch * (s.transpose_a ? s.k : s.m);
    int64_t row_of_a = std::max(s.pitch_a, s.transpose_a ? s.m : s.k);
    pointers_ = {.a = trial_.allocate_numbers({{rows_of_a, row_of_a}, s.operand_dtype}),
                 .b = trial_.allocate_numbers({{s.batch, s.k, s.n}, s.operand_dtype}),
                 .y = trial_.allocate_numbers({{s.batch, s.m, s.n}, s.result_dtype}),
                 .workspace = trial_.allocate(workspace)};
    if (s.bias) pointers_.bias = trial_.allocate_numbers({{s.n}, s.operand_dtype});
    if (s.row_sums)
      pointers_.row_sums = static_cast<float*>(trial_.allocate_numbers({{s.m}, DType::f32}));
  }

  std::optional<float> time(const CudaProduct& product, const SumRows& sum_rows) {
    return trial_.time([&](void* stream) {
      product.run(pointers_, stream);
      if (pointers_.row_sums && !product.sums_rows()) sum_rows.run(pointers_, stream);
    });
  }
  bool repeats(const CudaProduct& product) {
    auto run = [&](void* stream) { product.run(pointers_, stream); };
    return trial_.repeats(run, pointers_.y) &&
           (!product.sums_rows() || trial_.repeats(run, pointers_.row_sums));
  }

 private:
  EngineTrial trial_;
  ProductPointers pointers_;
};

// The choice among the algorithms of a product. With row sums there are those without, which a pass
// of its own then makes, and those that make them.
class ProductChoice {
 public:
  ProductChoice(const ProductShape& shape, CudaLibraries& libraries, const SumRows& sum_rows)
      : shape_(shape), libraries_(libraries), sum_rows_(sum_rows) {
    ProductShape plain = shape;
    plain.row_sums = false;
    add(plain, "plain");
    if (shape.row_sums) add(shape, "summing");
  }

  // Returns the choice; null if there is no algorithm.
  std::shared_ptr<const ChosenProduct> choose() {
    const CudaLibraries::Options& options = libraries_.options();
    bool tensor_cores = shape_.operand_dtype != DType::f32 || options.tf32;
    std::string key = fmt::format(
        "{}, product {}, {}, at most {} MiB", libraries_.kind_for_products(), to_string(shape_),
        tensor_cores ? "tensor cores" : "no tensor cores", options.product_workspace >> 20);
    EngineGroups engines(groups_);
    if (!choose_engine(engines, key, options.tuning)) return nullptr;
    const Form& chosen = *forms_[engines.selected()];
    return std::make_shared<ChosenProduct>(ChosenProduct{chosen.shape, chosen.engines.algorithm()});
  }

 private:
  struct Form {
    ProductShape shape;
    ProductEngines engines;
  };

  void add(const ProductShape& shape, const char* name) {
    EngineTrials<CudaProduct> trials{
        [this](const CudaProduct& product) { return trial().time(product, sum_rows_); },
        [this](const CudaProduct& product) { return trial().repeats(product); }};
    forms_.push_back(std::make_unique<Form>(Form{shape, {shape, &libraries_, trials}}));
    groups_.push_back({name, &forms_.back()->engines});
  }

  // Made at the first trial, when all proposals and so the largest workspace are known.
  ProductTrial& trial() {
    size_t workspace = std::max<size_t>(1, sum_rows_.workspace_bytes);
    for (const auto& form : forms_)
      for (const CudaProduct& product : form->engines.proposed())
        workspace = std::max(workspace, product.workspace_bytes());
    if (!trial_) trial_.emplace(shape_, libraries_.device(), workspace);
    return *trial_;
  }

  const ProductShape& shape_;
  CudaLibraries& libraries_;
  const SumRows& sum_rows_;
  std::vector<std::unique_ptr<Form>> forms_;
  std::vector<EngineGroup> groups_;  // in the order of forms_
  std::optional<ProductTrial> trial_;
};

}  // namespace

std::string to_string(const ProductShape& s) {
  return fmt::format("{} to {}, {} x ({}, {}, {}){}{}{}{}{}", to_string(s.operand_dtype),
                     to_string(s.result_dtype), s.batch, s.m, s.n, s.k,
                     s.transpose_a ? ", a transposed" : "", s.transpose_b ? ", b transposed" : "",
                     s.pitch_a ? fmt::format(", pitch {}", s.pitch_a) : "", s.bias ? ", bias" : "",
                     s.row_sums ? ", row sums" : "");
}

CudaProduct choose_product(const ProductShape& shape, CudaLibraries* libraries,
                           const SumRows& sum_rows) {
  require(libraries != nullptr, "a product needs the device's libraries");
  require(!shape.row_sums || sum_rows.run, "row sums that can be made apart");
  auto& chosen = libraries->products()[to_string(shape)];
  if (!chosen) {
    PlanClock clock(libraries->plan_store());
    chosen = ProductChoice(shape, *libraries, sum_rows).choose();
  }
  if (!chosen)
    fail(Category::device,
         "cuBLASLt has no algorithm for the matrix product {} that adds up in a fixed order; try "
         "another precision or batch size",
         to_string(shape));
  auto product = CudaProduct::recall(chosen->shape, libraries, chosen->algorithm);
  require(product.has_value(), "a product is made by the algorithm chosen for it");
  return std::move(*product);
}

}  // namespace spire
