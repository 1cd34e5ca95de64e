#include <spire/kernels/convolution_key.h>
#include <spire/kernels/convolution_timer.h>
#include <spire/kernels/cuda_libraries.h>
#include <spire/kernels/engine_choice.h>
#include <spire/kernels/prepared_convolution.h>

namespace spire {
namespace {

// The best first.
std::vector<ConvolutionForm> forms_of(const ConvolutionShape& s) {
  if (s.pass == ConvolutionPass::backward_weights && s.dtype != DType::f32)
    return {{DType::f32, true}, {s.dtype, true}};
  if (s.bias || s.relu) return {{s.dtype, true}, {s.dtype, false}};
  return {{s.dtype, true}};
}

class ConvolutionEngines : public Engines {
 public:
  ConvolutionEngines(const ConvolutionShape& shape, const CudaLibraries& libraries,
                     const CudnnRules& rules, PreparedConvolution& prepared)
      : shape_(shape), libraries_(libraries), rules_(rules), prepared_(prepared) {}

  bool recall(const std::string& name) override {
    auto config = engine_config(cudnn(), graph(), name, rules_);
    if (config) prepared_.plan = CudnnPlan::make(cudnn(), std::move(*config), rules_);
    return prepared_.plan.has_value();
  }
  size_t propose(size_t most) override {
    plans_ = CudnnPlan::find(cudnn(), graph(), rules_, most);
    return plans_.size();
  }
  std::optional<float> time(size_t index) override {
    if (!timer_) timer_.emplace(shape_, prepared_, libraries_.device(), plans_);
    return timer_->time(plans_[index]);
  }
  std::string settle(size_t index) override {
    prepared_.plan = std::move(plans_[index]);
    return prepared_.plan->engine();
  }

 private:
  const Cudnn& cudnn() const { return libraries_.cudnn(); }
  const CudnnDescriptor& graph() const { return prepared_.convolution.graph(); }

  const ConvolutionShape& shape_;
  const CudaLibraries& libraries_;
  const CudnnRules& rules_;
  PreparedConvolution& prepared_;
  std::vector<CudnnPlan> plans_;
  std::optional<ConvolutionTimer> timer_;
};

std::shared_ptr<PreparedConvolution> prepare(const ConvolutionShape& shape,
                                             const CudaLibraries& libraries) {
  const Cudnn& cudnn = libraries.cudnn();
  CudnnRules rules{.tensor_cores = shape.dtype != DType::f32 || libraries.options().tf32,
                   .most_workspace = libraries.options().convolution_workspace};
  for (const ConvolutionForm& form : forms_of(shape)) {
    auto prepared = std::make_shared<PreparedConvolution>(shape, form, cudnn);
    ConvolutionEngines engines(shape, libraries, rules, *prepared);
    ConvolutionKey key{cudnn.kind,          shape, form.result, form.fused, rules.tensor_cores,
                       rules.most_workspace};
    if (choose_engine(engines, to_string(key), libraries.options().tuning)) return prepared;
  }
  fail(Category::device,
       "cuDNN {} has no engine that is deterministic and takes at most {} MiB of workspace for "
       "the convolution {}; try another precision or batch size",
       cudnnGetVersion(), rules.most_workspace >> 20, to_string(shape));
}

}  // namespace

std::shared_ptr<const PreparedConvolution> prepare_convolution(const ConvolutionShape& shape,
                                                               CudaLibraries& libraries) {
  auto& prepared = libraries.convolutions()[to_string(shape)];
  if (!prepared) prepared = prepare(shape, libraries);
  return prepared;
}

void PreparedConvolution::run(const CudnnPlan& by, CudnnPack& pack, const ConvolutionPointers& p,
                              void* stream) const {
  using C = CudnnConvolution;
  constexpr int64_t ids[] = {C::x_id, C::filter_id, C::y_id, C::bias_id};
  // Whichever is not read is written.
  auto at = [&](const void* read) { return read ? const_cast<void*>(read) : p.result; };
  void* const pointers[] = {at(p.x), at(p.filter), at(p.y), const_cast<float*>(p.bias)};
  size_t count = p.bias && form.fused ? 4 : 3;
  by.run(pack, std::span(ids).first(count), std::span(pointers).first(count), p.workspace, stream);
}

}  // namespace spire
