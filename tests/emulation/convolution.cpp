// Loops in the place of cuDNN.
#include <spire/device/cuda_error.h>
#include <spire/kernels/cuda_convolution.h>
#include <spire/kernels/float_type.h>

#include <algorithm>
#include <cstring>

#include "cuda_runtime.h"

namespace spire {

struct CudaConvolution::Prepared {
  ConvolutionShape shape;
};

CudaConvolution::CudaConvolution(const ConvolutionShape& shape, CudaLibraries*)
    : prepared_(std::make_unique<Prepared>(Prepared{shape})) {}

CudaConvolution::~CudaConvolution() {}

// Like an engine that wants many channels, so that the tests see both ways.
bool CudaConvolution::fused() const {
  return prepared_->shape.y.back() % 16 == 0;
}

DType CudaConvolution::result() const {
  const ConvolutionShape& s = prepared_->shape;
  return s.pass == ConvolutionPass::backward_weights ? DType::f32 : s.dtype;
}

size_t CudaConvolution::workspace_bytes() const {
  return 48;
}

namespace {

// visit(x, filter, y): the elements that meet, by their indices.
template <typename Visit>
void each_product(const ConvolutionShape& s, const Visit& visit) {
  const auto& [kernel, stride, padding, dilation] = s.window;
  int64_t channels = s.x[3] / s.groups, outputs = s.y[3] / s.groups;
  for (int64_t y = 0; y < s.y.elements(); ++y) {
    int64_t o = y % s.y[3], j = y / s.y[3] % s.y[2], i = y / s.y[3] / s.y[2] % s.y[1];
    int64_t n = y / s.y[3] / s.y[2] / s.y[1];
    for (int64_t k = 0; k < kernel.h * kernel.w; ++k) {
      int64_t row = i * stride.h - padding.h + k / kernel.w * dilation.h;
      int64_t column = j * stride.w - padding.w + k % kernel.w * dilation.w;
      if (row < 0 || row >= s.x[1] || column < 0 || column >= s.x[2]) continue;
      int64_t x = ((n * s.x[1] + row) * s.x[2] + column) * s.x[3] + o / outputs * channels;
      int64_t filter = (o * kernel.h * kernel.w + k) * channels;
      for (int64_t c = 0; c < channels; ++c) visit(x + c, filter + c, y);
    }
  }
}

template <typename T>
void convolve(const ConvolutionShape& s, const ConvolutionPointers& p, bool fused,
              std::vector<float>& sums) {
  auto *x = static_cast<const T*>(p.x), *filter = static_cast<const T*>(p.filter),
       *y = static_cast<const T*>(p.y);
  auto value = [](T element) { return static_cast<float>(element); };
  each_product(s, [&](int64_t i, int64_t k, int64_t j) {
    auto at = [&](int64_t element) -> float& { return sums[static_cast<size_t>(element)]; };
    if (!y) at(j) += value(x[i]) * value(filter[k]);
    if (!x) at(i) += value(y[j]) * value(filter[k]);
    if (!filter) at(k) += value(x[i]) * value(y[j]);
  });
  if (!fused) return;
  for (size_t i = 0; i < sums.size(); ++i) {
    if (s.bias) sums[i] += p.bias[i % static_cast<size_t>(s.y.back())];
    if (s.relu) sums[i] = std::max(sums[i], 0.0f);
  }
}

int64_t results(const ConvolutionShape& s) {
  if (s.pass == ConvolutionPass::forward) return s.y.elements();
  if (s.pass == ConvolutionPass::backward_data) return s.x.elements();
  return s.y[3] * s.x[3] / s.groups * s.window.kernel.h * s.window.kernel.w;
}

void convolve_all(const ConvolutionShape& s, bool fused, DType result, size_t workspace,
                  const ConvolutionPointers& p) {
  std::vector<float> sums(static_cast<size_t>(results(s)));
  with_cuda_float_type(s.dtype, [&](auto in) { convolve<decltype(in)>(s, p, fused, sums); });
  with_cuda_float_type(result, [&](auto out) {
    for (size_t i = 0; i < sums.size(); ++i)
      static_cast<decltype(out)*>(p.result)[i] = decltype(out)(sums[i]);
  });
  std::memset(p.workspace, 0xff, workspace);  // is scratch
}

}  // namespace

void CudaConvolution::run(const ConvolutionPointers& p, void* stream) const {
  const ConvolutionShape& s = prepared_->shape;
  bool two = (p.x != nullptr) == (s.pass != ConvolutionPass::backward_data) &&
             (p.filter != nullptr) == (s.pass != ConvolutionPass::backward_weights) &&
             (p.y != nullptr) == (s.pass != ConvolutionPass::forward);
  bool aligned = reinterpret_cast<uintptr_t>(p.workspace) % 64 == 0;
  require(two && p.result && aligned && (p.bias != nullptr) == s.bias, "a convolution's pointers");
  bool fuses = s.pass == ConvolutionPass::forward && fused();
  auto work = [s, p, fuses, dtype = result(), bytes = workspace_bytes()] {
    convolve_all(s, fuses, dtype, bytes, p);
  };
  check_cuda(emulation::put_kernel(static_cast<cudaStream_t>(stream), work), "cudnnBackendExecute");
}

}  // namespace spire
