// Products y = a b in fp32, where rows of a and y lie anywhere: dense layers, and convolutions, in
// which a row of a is the window of an output position, scattered over an image.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/cpu/register_tiles.h"

namespace spire::product {

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
  std::vector<int64_t> from;  // row i of a begins at a + from[i]
  std::vector<int64_t> to;    // row i of y begins at y + to[i]
  // What each row sums over; Segment::b counts rows of the matrix b and ascends.
  std::vector<Segment> segments;
};

// What is added to each sum, and applied to it before it is stored in y.
struct Epilogue {
  const float* bias = nullptr;  // (columns); null: none
  bool relu = false;
  bool add = false;  // adds the sum to y's value; y must be fp32
};

class RowProduct {
 public:
  // threads: of run(); results do not depend on it.
  RowProduct(Factors factors, RowGroup group, int threads);

  int64_t rows() const { return static_cast<int64_t>(group_.from.size()); }
  size_t workspace_bytes() const;  // a multiple of 64

  // Computes the first `rows` rows of y. b: the matrix, in the form of the Factors. T: float or
  // bfloat16. workspace: workspace_bytes(), aligned to 64 bytes.
  template <typename T>
  void run(int64_t rows, const float* a, const void* b, T* y, const Epilogue& epilogue,
           void* workspace) const;

 private:
  // Segments within rows [begin, end) of b, whose part of a panel fits in the second-level cache.
  // Segment::b counts from `begin`.
  struct Chunk {
    int64_t begin = 0, end = 0;
    std::vector<Segment> segments;
  };
  // Arguments of run(), and memory for the sums between two chunks.
  template <typename T>
  struct Operands {
    const float* a;
    T* y;
    Epilogue epilogue;
    float* partial;
  };
  void cut();
  size_t panel_bytes() const;    // of a thread's converted panel; 0 if panels are read in place
  size_t partial_bytes() const;  // of all sums between two chunks; 0 if there is one chunk
  const float* panel(const void* b, int64_t index, const Chunk& chunk, float* scratch) const;
  // Adds a chunk of k to rows [begin, end), columns of panel `index`, which begins at `columns`.
  template <typename T>
  void compute(const Operands<T>& operands, int64_t begin, int64_t end, int64_t index,
               const Chunk& chunk, const float* columns) const;

  Factors factors_;
  RowGroup group_;
  int threads_;
  std::vector<Chunk> chunks_;
};

}  // namespace spire::product
