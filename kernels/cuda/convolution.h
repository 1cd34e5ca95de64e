// Convolutions (ops/conv2d/conv2d.h) and their gradients on a GPU, over (N, H, W, C) tensors and
// krsc filters (kernels/cuda/packing.h): by cuDNN or, as products of matrices, by cuBLASLt
// (convolution_form.h). The emulation (tests/emulation) has loops instead.
#pragma once
#include <cstdint>
#include <memory>

#include "kernels/kernel.h"
#include "kernels/window.h"

namespace spire {

enum class ConvolutionPass {
  forward,           // x, filter -> y
  backward_data,     // gradient of y, filter -> gradient of x
  backward_weights,  // x, gradient of y -> gradient of the filter
};

struct ConvolutionShape {
  ConvolutionPass pass = ConvolutionPass::forward;
  Shape x, y;     // (N, H, W, C), (N, OH, OW, O)
  Window window;  // its kernel is (KH, KW)
  int64_t groups = 1;
  DType dtype = DType::f32;  // of x, y and filter: fp32, bf16 or fp16
  bool bias = false;         // forward: (O) fp32, added to each pixel
  // forward: applied after the bias, by add_bias_relu_cuda (the libraries' relu turns NaN into 0)
  bool relu = false;
};

// Device pointers for one call of run(): to those of x, filter and y (or their gradients) that the
// pass reads, and to `result`, which it writes. Tensors are aligned to tensor_alignment, the
// workspace to workspace_alignment.
struct ConvolutionPointers {
  const void *x = nullptr, *filter = nullptr, *y = nullptr;
  const float* bias = nullptr;
  void *result = nullptr, *workspace = nullptr;
};

// A convolution with its form and engine, chosen in the constructor (engine_choice.h). The same
// choice gives the same bits. Sums are fp32. Used by one thread at a time.
class CudaConvolution {
 public:
  // libraries: those of the thread's current device. Throws Error(device) if there is no engine.
  CudaConvolution(const ConvolutionShape& shape, CudaLibraries* libraries);
  ~CudaConvolution();
  CudaConvolution(CudaConvolution&&) noexcept;

  // Returns true if run() computes the whole pass. False, for a forward pass with a bias or relu:
  // call add_bias_relu_cuda() after run().
  bool adds_bias_relu() const;
  // Returns the dtype of the result: the shape's dtype. For a filter's gradient it is fp32, or the
  // shape's dtype, rounded once from the fp32 sum, if that is faster or no engine writes fp32.
  DType result_dtype() const;
  size_t workspace_bytes() const;
  void run(const ConvolutionPointers& pointers, void* stream) const;

 private:
  struct Prepared;
  std::unique_ptr<Prepared> prepared_;
};

}  // namespace spire
