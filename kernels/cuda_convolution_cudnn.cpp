#include <spire/kernels/cuda_convolution.h>
#include <spire/kernels/cuda_libraries.h>
#include <spire/kernels/cudnn_convolution.h>
#include <spire/kernels/cudnn_plan.h>

namespace spire {
namespace {

// The best first.
std::vector<ConvolutionForm> forms_of(const ConvolutionShape& s) {
  if (s.pass == ConvolutionPass::backward_weights && s.dtype != DType::f32)
    return {{DType::f32, true}, {s.dtype, true}};
  if (s.bias || s.relu) return {{s.dtype, true}, {s.dtype, false}};
  return {{s.dtype, true}};
}

std::string describe(const ConvolutionShape& s) {
  constexpr std::string_view names[] = {"convolution", "data gradient of a convolution",
                                        "weight gradient of a convolution"};
  const auto& [kernel, stride, padding, dilation] = s.window;
  return fmt::format(
      "the {}, {} {} to {}, kernel {}, stride {}, padding {}, dilation {}, groups {}",
      names[static_cast<size_t>(s.pass)], name(s.dtype), to_string(s.x), to_string(s.y),
      to_string(kernel), to_short_string(stride), to_short_string(padding),
      to_short_string(dilation), s.groups);
}

}  // namespace

struct CudaConvolution::Prepared {
  Prepared(const ConvolutionShape& shape, const CudaLibraries& libraries) {
    const Cudnn& cudnn = libraries.cudnn();
    CudnnRules rules{.tensor_cores = shape.dtype != DType::f32 || libraries.options().tf32,
                     .most_workspace = libraries.options().convolution_workspace};
    for (const ConvolutionForm& tried : forms_of(shape)) {
      form = tried;
      convolution = std::make_unique<CudnnConvolution>(shape, form, cudnn);
      plan = CudnnPlan::choose(cudnn, convolution->graph(), rules);
      if (plan) return;
    }
    fail(Category::device,
         "cuDNN {} has no engine that is deterministic and takes at most {} MiB of workspace for "
         "{}; try another precision or batch size",
         cudnnGetVersion(), rules.most_workspace >> 20, describe(shape));
  }

  ConvolutionForm form{};
  std::unique_ptr<CudnnConvolution> convolution;
  std::optional<CudnnPlan> plan;
};

CudaConvolution::CudaConvolution(const ConvolutionShape& shape, CudaLibraries* libraries) {
  require(libraries != nullptr, "a convolution needs the device's libraries");
  prepared_ = std::make_unique<Prepared>(shape, *libraries);
}

CudaConvolution::~CudaConvolution() {}

bool CudaConvolution::fused() const {
  return prepared_->form.fused;
}

DType CudaConvolution::result() const {
  return prepared_->form.result;
}

size_t CudaConvolution::workspace_bytes() const {
  return prepared_->plan->workspace_bytes();
}

void CudaConvolution::run(const ConvolutionPointers& p, void* stream) const {
  using C = CudnnConvolution;
  constexpr int64_t ids[] = {C::x_id, C::filter_id, C::y_id, C::bias_id};
  // Whichever is not read is written.
  auto at = [&](const void* read) { return read ? const_cast<void*>(read) : p.result; };
  void* const pointers[] = {at(p.x), at(p.filter), at(p.y), const_cast<float*>(p.bias)};
  size_t count = p.bias && fused() ? 4 : 3;
  prepared_->plan->run(std::span(ids).first(count), std::span(pointers).first(count), p.workspace,
                       stream);
}

}  // namespace spire
