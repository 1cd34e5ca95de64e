// Products y = a b in fp32, where rows of a and y lie anywhere: dense layers, and convolutions, in
// which a row of a is the window of an output position, scattered over an image.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/cpu/product_tiles.h"

namespace spire::inline kernels::product {

// The matrix b, (depth, columns).
struct Factors {
  enum class Form {
    panels_f32,   // [panel][k][column]; columns are filled up to whole registers
    panels_bf16,  // the same in bf16, converted as they are used
    rows_f32      // plain rows, `stride` floats apart, copied as they are used
  };
  Form form = Form::panels_f32;
  int64_t depth = 0, columns = 0;
  int64_t stride = 0;  // rows_f32 only
};

// Rows of y that are sums over the same segments of k.
struct RowGroup {
  std::vector<int64_t> from;      // row i of a begins at a + from[i]
  std::vector<int64_t> to;        // row i of y begins at y + to[i]
  std::vector<Segment> segments;  // k of a segment of b: a row of the matrix b
};

// Where a sum begins, and what becomes of it before it is stored.
struct Finish {
  const float* bias = nullptr;  // (columns); null: none
  bool relu = false;
  bool add = false;  // to what y has; for y in fp32
};

class RowProduct {
 public:
  // threads: of run(); results do not depend on it.
  RowProduct(Factors factors, RowGroup group, int threads);

  int64_t rows() const { return static_cast<int64_t>(group_.from.size()); }
  size_t workspace_bytes() const;  // a multiple of 64

  // Computes the first `rows` rows. T: float or bfloat16. workspace: aligned to 64 bytes.
  template <typename T>
  void run(int64_t rows, const float* a, const void* b, T* y, const Finish& finish,
           void* workspace) const;

 private:
  // A range of k whose part of a panel fits in the second-level cache. `b` of a segment counts
  // from `begin`.
  struct Chunk {
    int64_t begin = 0, end = 0;
    std::vector<Segment> segments;
  };
  void cut();
  size_t panel_bytes() const;    // of a thread's converted panel; 0 if panels are read in place
  size_t partial_bytes() const;  // of all sums between two chunks; 0 if there is one chunk
  const float* panel(const void* b, int64_t index, const Chunk& chunk, float* scratch) const;

  Factors factors_;
  RowGroup group_;
  int threads_;
  std::vector<Chunk> chunks_;
};

}  // namespace spire::inline kernels::product
