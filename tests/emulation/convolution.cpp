// Convolutions of the emulation: loops instead of cuDNN. Each form of a convolution has two engines
// that sum in different orders, so their results differ in the last bits. A random draw decides
// which of them, or of the algorithms of products, is the fastest: so only a run that keeps its
// choices has one result.
#include <algorithm>
#include <array>
#include <cstring>

#include <tests/described_gpu/shapes.h>
#include <tests/kernels/cuda/cudnn_rules.h>

#include "cuda_runtime.h"
#include "drawn_time.h"
#include "engine/base/fail.h"
#include "engine/device/cuda_error.h"
#include "kernels/cuda/convolution_form.h"
#include "kernels/cuda/engine_choice.h"
#include "kernels/cuda/libraries.h"
#include "kernels/cuda/product.h"
#include "kernels/kernel.h"
#include "pointers.h"

namespace spire {

namespace {

// Fuses a bias for many channels only, so that the tests see both ways.
bool has_engines(const ConvolutionShape& s, const ConvolutionForm& form) {
  if (s.pass == ConvolutionPass::backward_weights)
    return form.result == s.dtype || testing::has_fp32_weight_gradient(s);
  bool fuses = form.fused && s.bias;
  return !fuses || s.y.back() % 16 == 0;
}

class TwoEngines : public Engines {
 public:
  explicit TwoEngines(bool there) : there_(there) {}

  bool recall(const std::string& name) override {
    backwards = name == "backwards";
    return there_ && (backwards || name == "forwards");
  }
  size_t propose(size_t most) override { return there_ ? std::min<size_t>(most, 2) : 0; }
  std::optional<float> time(size_t index) override { return times_[index]; }
  bool repeats(size_t) override { return true; }
  std::string select(size_t index) override {
    backwards = index == 1;
    return backwards ? "backwards" : "forwards";
  }
  bool backwards = false;

 private:
  bool there_;
  std::array<float, 2> times_{drawn_time(), drawn_time()};
};

}  // namespace

struct CudaConvolution::Prepared {
  ConvolutionShape shape;
  ConvolutionForm form;
  bool backwards = false;
  std::optional<CudaProduct> product = {};
};

namespace {

// The engines of one form.
struct FormEngines {
  FormEngines(const ConvolutionShape& shape, const ConvolutionForm& said, CudaLibraries* libraries)
      : form(said), loops(!form.product && has_engines(shape, form)) {
    EngineTrials<CudaProduct> by_draw{[](const CudaProduct&) { return drawn_time(); },
                                      [](const CudaProduct&) { return true; }};
    if (form.product) product.emplace(product_shape(shape, form), libraries, by_draw);
  }
  Engines* engines() { return product ? static_cast<Engines*>(&*product) : &loops; }

  ConvolutionForm form;
  TwoEngines loops;
  std::optional<ProductEngines> product;
};

}  // namespace

CudaConvolution::CudaConvolution(const ConvolutionShape& shape, CudaLibraries* libraries) {
  testing::note(shape);
  std::vector<std::unique_ptr<FormEngines>> forms;
  std::vector<EngineGroup> groups;
  for (const ConvolutionForm& form : forms_of(shape)) {
    forms.push_back(std::make_unique<FormEngines>(shape, form, libraries));
    groups.push_back({to_string(form), forms.back()->engines(), form.last_resort});
  }
  EngineGroups engines(groups);
  ConvolutionKey key{.device = "emulated", .shape = shape};
  bool chosen =
      choose_engine(engines, to_string(key), libraries ? libraries->options().tuning : nullptr);
  require(chosen, "each convolution has an engine");
  FormEngines& by = *forms[engines.selected()];
  prepared_ = std::make_unique<Prepared>(Prepared{shape, by.form, by.loops.backwards});
  if (by.product)
    prepared_->product =
        CudaProduct::recall(product_shape(shape, by.form), libraries, by.product->algorithm());
}

CudaConvolution::~CudaConvolution() {}
CudaConvolution::CudaConvolution(CudaConvolution&&) noexcept = default;

bool CudaConvolution::adds_bias_relu() const {
  return prepared_->form.fused;
}

DType CudaConvolution::result_dtype() const {
  return prepared_->form.result;
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
  with_any_float_type(s.dtype,
                      [&](auto in) { convolve<decltype(in)>(s, p, backwards, fused, sums); });
  with_any_float_type(result, [&](auto out) {
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
  require(two && p.result && (p.bias != nullptr) == s.bias, "a convolution's pointers");
  emulation::check_alignment("cuDNN", {p.x, p.filter, p.y, p.bias, p.result}, p.workspace);
  if (prepared_->product)
    return prepared_->product->run(product_pointers(s, prepared_->form, p), stream);
  bool fuses = s.pass == ConvolutionPass::forward && adds_bias_relu();
  auto work = [s, p, backwards = prepared_->backwards, fuses, dtype = result_dtype(),
               bytes = workspace_bytes()] { convolve_all(s, backwards, fuses, dtype, bytes, p); };
  check_cuda(emulation::put_kernel(static_cast<cudaStream_t>(stream), work), "cudnnBackendExecute");
}

}  // namespace spire
