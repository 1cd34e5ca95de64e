// Loops in the place of cuDNN. There are two engines, which add up in other orders: their results
// differ in the last bits. Which is the quicker is drawn by lot, so that only a run that keeps its
// choices has one result.
#include <spire/device/cuda_error.h>
#include <spire/kernels/convolution_key.h>
#include <spire/kernels/cuda_libraries.h>
#include <spire/kernels/engine_choice.h>
#include <spire/kernels/float_type.h>
#include <tests/described_gpu/shapes.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "cuda_runtime.h"

namespace spire {

namespace {

class TwoEngines : public Engines {
 public:
  bool recall(const std::string& name) override {
    backwards = name == "backwards";
    return backwards || name == "forwards";
  }
  size_t propose(size_t most) override { return std::min<size_t>(most, 2); }
  std::optional<float> time(size_t index) override { return index == lot_ ? 1.0f : 2.0f; }
  std::string settle(size_t index) override {
    backwards = index == 1;
    return backwards ? "backwards" : "forwards";
  }
  bool backwards = false;

 private:
  size_t lot_ = std::random_device()() % 2;
};

}  // namespace

struct CudaConvolution::Prepared {
  ConvolutionShape shape;
  TwoEngines engine = {};
};

CudaConvolution::CudaConvolution(const ConvolutionShape& shape, CudaLibraries* libraries)
    : prepared_(std::make_unique<Prepared>(Prepared{shape})) {
  testing::note(shape);
  ConvolutionKey key{.device = "emulated", .shape = shape, .result = result(), .fused = fused()};
  choose_engine(prepared_->engine, to_string(key),
                libraries ? libraries->options().tuning : nullptr);
}

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
void each_product(const ConvolutionShape& s, bool backwards, const Visit& visit) {
  const auto& [kernel, stride, padding, dilation] = s.window;
  int64_t channels = s.x[3] / s.groups, outputs = s.y[3] / s.groups;
  int64_t positions = kernel.h * kernel.w;
  for (int64_t place = 0; place < s.y.elements(); ++place) {
    int64_t y = backwards ? s.y.elements() - 1 - place : place;
    int64_t o = y % s.y[3], j = y / s.y[3] % s.y[2], i = y / s.y[3] / s.y[2] % s.y[1];
    int64_t n = y / s.y[3] / s.y[2] / s.y[1];
    for (int64_t at = 0; at < positions; ++at) {
      int64_t k = backwards ? positions - 1 - at : at;
      int64_t row = i * stride.h - padding.h + k / kernel.w * dilation.h;
      int64_t column = j * stride.w - padding.w + k % kernel.w * dilation.w;
      if (row < 0 || row >= s.x[1] || column < 0 || column >= s.x[2]) continue;
      int64_t x = ((n * s.x[1] + row) * s.x[2] + column) * s.x[3] + o / outputs * channels;
      int64_t filter = (o * positions + k) * channels;
      for (int64_t c = 0; c < channels; ++c) visit(x + c, filter + c, y);
    }
  }
}

template <typename T>
void convolve(const ConvolutionShape& s, const ConvolutionPointers& p, bool backwards, bool fused,
              std::vector<float>& sums) {
  auto *x = static_cast<const T*>(p.x), *filter = static_cast<const T*>(p.filter),
       *y = static_cast<const T*>(p.y);
  auto value = [](T element) { return static_cast<float>(element); };
  each_product(s, backwards, [&](int64_t i, int64_t k, int64_t j) {
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

void convolve_all(const ConvolutionShape& s, bool backwards, bool fused, DType result,
                  size_t workspace, const ConvolutionPointers& p) {
  std::vector<float> sums(static_cast<size_t>(results(s)));
  with_cuda_float_type(s.dtype,
                       [&](auto in) { convolve<decltype(in)>(s, p, backwards, fused, sums); });
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
  bool backwards = prepared_->engine.backwards;
  auto work = [s, p, backwards, fuses, dtype = result(), bytes = workspace_bytes()] {
    convolve_all(s, backwards, fuses, dtype, bytes, p);
  };
  check_cuda(emulation::put_kernel(static_cast<cudaStream_t>(stream), work), "cudnnBackendExecute");
}

}  // namespace spire
