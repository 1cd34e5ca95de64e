// Convolutions (conv2d.h) and their gradients on a GPU, over (N,H,W,C) and a krsc filter
// (filter.h). In cuda_convolution_cudnn.cpp by cuDNN or, as products of matrices, by cuBLASLt
// (convolution_form.h); tests/emulation has loops in their place.
#pragma once
#include <cstdint>
#include <memory>

#include "kernels/kernel.h"
#include "kernels/window.h"

namespace spire::inline kernels {

enum class ConvolutionPass {
  forward,           // x, filter -> y
  backward_data,     // y's gradient, filter -> x's gradient
  backward_weights,  // x, y's gradient -> the filter's gradient
};

struct ConvolutionShape {
  ConvolutionPass pass = ConvolutionPass::forward;
  Shape x, y;     // (N,H,W,C), (N,OH,OW,O)
  Window window;  // its kernel is KH, KW
  int64_t groups = 1;
  DType dtype = DType::f32;  // of x, y and filter: fp32, bf16 or fp16
  bool bias = false;         // forward: (O) fp32, added to each pixel
  bool relu = false;         // forward: behind it
};

// Those of x, filter and y (or their gradients) that the pass reads; `result` is the one it writes.
// They are at tensor_alignment, the workspace at workspace_alignment.
struct ConvolutionPointers {
  const void *x = nullptr, *filter = nullptr, *y = nullptr;
  const float* bias = nullptr;
  void *result = nullptr, *workspace = nullptr;
};

// Prepared once: here form and engine are chosen, as tuning.h has it. Engines are deterministic, so
// the same choice gives the same bits. Sums are fp32. Used by one thread at a time.
class CudaConvolution {
 public:
  // libraries: of the device that is the thread's current one. Throws Error(device).
  CudaConvolution(const ConvolutionShape& shape, CudaLibraries* libraries);
  ~CudaConvolution();

  // Whether run() does bias and relu; else the caller does them behind it, as passes of their own.
  bool fused() const;
  // What run() writes: `dtype`; of a filter's gradient fp32, or `dtype` where that is quicker or no
  // engine writes fp32, rounded once from the fp32 sum.
  DType result() const;
  size_t workspace_bytes() const;
  void run(const ConvolutionPointers& pointers, void* stream) const;

 private:
  struct Prepared;
  std::unique_ptr<Prepared> prepared_;
};

}  // namespace spire::inline kernels
