// Matrix products on a GPU by cuBLASLt: y = a' b' + bias, batched, where the bias is optional; a'
// is a or its transpose, b' likewise. All matrices are row-major. There is no relu here, as
// cuBLASLt's turns NaN into 0. The emulation (tests/emulation) has loops instead.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/cuda/engine_choice.h"
#include "kernels/kernel.h"

namespace spire {

struct ProductShape {
  int64_t batch = 1;                 // matrices per operand, one after the other
  int64_t m = 1, n = 1, k = 1;       // y (m, n), a' (m, k), b' (k, n)
  bool transpose_a = false;          // a is stored as (k, m)
  bool transpose_b = false;          // b is stored as (n, k)
  int64_t pitch_a = 0;               // elements from a stored row of a to the next; 0: dense
  DType operand_dtype = DType::f32;  // dtype of a, b and bias: fp32, bf16 or fp16
  DType result_dtype = DType::f32;   // dtype of y: the same, or fp32
  bool bias = false;                 // (n), added to each row
  bool row_sums = false;             // instead: also writes the sums of the rows of a', (m) fp32
};

// Matrices are aligned to tensor_alignment, the workspace to workspace_alignment.
struct ProductPointers {
  const void *a = nullptr, *b = nullptr, *bias = nullptr;
  void *y = nullptr, *workspace = nullptr;
  float* row_sums = nullptr;
};

// A product and the algorithm that computes it. Sums are fp32 and rounded once, to the result.
// The same algorithm gives the same bits on the same kind of device.
class CudaProduct {
 public:
  ~CudaProduct();
  CudaProduct(CudaProduct&&) noexcept;
  CudaProduct& operator=(CudaProduct&&) noexcept;

  // Returns the product once for each of at most `most` algorithms, in cuBLASLt's ranking, which
  // depends only on shape, library and kind of device. Algorithms that do not add up in a fixed
  // order are left out, as their bits vary. libraries: those of the thread's current device. Throws
  // Error(device), as recall() does.
  static std::vector<CudaProduct> find(const ProductShape& shape, CudaLibraries* libraries,
                                       size_t most);
  // Returns the product by the algorithm whose text (algorithm()) this is. None if the text is
  // malformed, from another version of cuBLASLt, or of an algorithm that cannot do this product.
  static std::optional<CudaProduct> recall(const ProductShape& shape, CudaLibraries* libraries,
                                           const std::string& algorithm);

  bool sums_rows() const;         // ProductShape::row_sums
  std::string algorithm() const;  // one line: "product" and the library's encoding
  size_t workspace_bytes() const;
  void run(const ProductPointers& pointers, void* stream) const;  // REQUIRES: one thread at a time

 private:
  struct Prepared;
  explicit CudaProduct(std::unique_ptr<Prepared> prepared);

  std::unique_ptr<Prepared> prepared_;
};

// Makes row sums in a pass of its own, by the pointers of a product.
struct SumRows {
  std::function<void(const ProductPointers& pointers, void* stream)> run = {};
  size_t workspace_bytes = 0;
};

// Returns the product by the algorithm chosen for it (engine_choice.h), which all products of this
// shape on the GPU share. libraries: those of the thread's current device. sum_rows: of a product
// with row sums; where it is faster than an algorithm that makes them, too, the result is a product
// without them. Throws Error(device) if there is none.
CudaProduct choose_product(const ProductShape& shape, CudaLibraries* libraries,
                           const SumRows& sum_rows = {});

// Returns "bf16 to fp32, 12 x (1024, 64, 1024), a transposed, pitch 128, bias": the name of a
// product in keys. Another wording forgets all saved choices.
std::string to_string(const ProductShape& shape);

// What all products of a shape on a GPU share: the shape chosen, with or without row sums, and the
// text of its algorithm.
struct ChosenProduct {
  ProductShape shape;
  std::string algorithm;
};

// The algorithms of a product as engines to choose from.
class ProductEngines : public Engines {
 public:
  ProductEngines(const ProductShape& shape, CudaLibraries* libraries,
                 EngineTrials<CudaProduct> trials)
      : shape_(shape), libraries_(libraries), trials_(std::move(trials)) {}

  bool recall(const std::string& name) override {
    if (!CudaProduct::recall(shape_, libraries_, name)) return false;
    algorithm_ = name;
    return true;
  }
  // Proposes only algorithms that recall() can restore: a resumed run has only their text.
  size_t propose(size_t most) override {
    proposed_ = CudaProduct::find(shape_, libraries_, most);
    std::erase_if(proposed_, [&](const CudaProduct& product) {
      return !CudaProduct::recall(shape_, libraries_, product.algorithm());
    });
    return proposed_.size();
  }
  std::optional<float> time(size_t index) override { return trials_.time(proposed_[index]); }
  bool repeats(size_t index) override { return trials_.repeats(proposed_[index]); }
  std::string select(size_t index) override { return algorithm_ = proposed_[index].algorithm(); }

  std::span<const CudaProduct> proposed() const { return proposed_; }
  const std::string& algorithm() const { return algorithm_; }  // the selected one

 private:
  ProductShape shape_;
  CudaLibraries* libraries_;
  EngineTrials<CudaProduct> trials_;
  std::vector<CudaProduct> proposed_;
  std::string algorithm_;
};

}  // namespace spire
