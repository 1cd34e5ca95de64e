#include <spire/kernels/convolution_key.h>
#include <spire/kernels/cuda_libraries.h>
#include <spire/kernels/engine_choice.h>
#include <spire/kernels/engine_timer.h>
#include <spire/kernels/prepared_convolution.h>

namespace spire {
namespace {

// A convolution to be timed, with tensors of the real size.
class ConvolutionTimer {
 public:
  // Throws Error(out_of_memory).
  ConvolutionTimer(const ConvolutionShape& s, const PreparedConvolution& prepared, DeviceId device,
                   std::span<const CudnnPlan> plans)
      : prepared_(prepared), timer_(device) {
    Shape filter{s.y[3], s.window.kernel.h, s.window.kernel.w, s.x[3] / s.groups};
    void* x = timer_.allocate(TensorSpec{s.x, s.dtype}.bytes());
    void* y = timer_.allocate(TensorSpec{s.y, s.dtype}.bytes());
    void* w = timer_.allocate(TensorSpec{filter, DType::f32}.bytes());  // a gradient's, the widest
    pointers_ = {.x = x, .filter = w, .y = y};
    if (s.pass == ConvolutionPass::forward) pointers_.y = nullptr, pointers_.result = y;
    if (s.pass == ConvolutionPass::backward_data) pointers_.x = nullptr, pointers_.result = x;
    if (s.pass == ConvolutionPass::backward_weights)
      pointers_.filter = nullptr, pointers_.result = w;
    size_t bias = static_cast<size_t>(s.y[3]) * sizeof(float);
    if (s.bias) pointers_.bias = static_cast<float*>(timer_.allocate(bias));
    pointers_.workspace = timer_.allocate(largest_workspace(plans));
  }

  std::optional<float> time(const CudnnPlan& plan) {
    CudnnPack pack;
    return timer_.time([&](void* stream) { prepared_.run(plan, pack, pointers_, stream); });
  }

 private:
  const PreparedConvolution& prepared_;
  EngineTimer timer_;
  ConvolutionPointers pointers_;
};

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
