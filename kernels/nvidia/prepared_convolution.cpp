#include "kernels/nvidia/prepared_convolution.h"

#include "kernels/autotune/convolution_timer.h"
#include "kernels/autotune/engine_groups.h"
#include "kernels/autotune/product_engines.h"
#include "kernels/nvidia/convolution_key.h"
#include "kernels/nvidia/cuda_libraries.h"

namespace spire::inline kernels {
namespace {

// The engines of one form by cuDNN.
class ConvolutionEngines : public Engines {
 public:
  using Time = std::function<std::optional<float>(const PreparedConvolution&, const CudnnPlan&)>;

  ConvolutionEngines(const ConvolutionShape& shape, const CudaLibraries& libraries,
                     const CudnnRules& rules, PreparedConvolution& prepared, Time time)
      : cudnn_(libraries.cudnn()),
        store_(libraries.plan_store()),
        name_(fmt::format("{}, convolution {}, {}", cudnn_.kind, to_string(shape),
                          to_string(prepared.form))),
        rules_(rules),
        prepared_(prepared),
        time_(std::move(time)) {
    prepared.convolution.emplace(shape, prepared.form, cudnn_);
  }

  bool recall(const std::string& name) override {
    prepared_.plan = CudnnPlan::recall(cudnn_, graph(), name, rules_, store_, name_);
    return prepared_.plan.has_value();
  }
  size_t propose(size_t most) override {
    plans_ = CudnnPlan::find(cudnn_, graph(), rules_, most);
    return plans_.size();
  }
  std::optional<float> time(size_t index) override { return time_(prepared_, plans_[index]); }
  std::string settle(size_t index) override {
    prepared_.plan = std::move(plans_[index]);
    prepared_.plan->keep(store_, name_);
    return prepared_.plan->engine();
  }

  std::span<const CudnnPlan> proposed() const { return plans_; }

 private:
  const CudnnDescriptor& graph() const { return prepared_.convolution->graph(); }

  const Cudnn& cudnn_;
  PlanStore* store_;
  std::string name_;  // of plans in the store, before the engine's
  const CudnnRules& rules_;
  PreparedConvolution& prepared_;
  Time time_;
  std::vector<CudnnPlan> plans_;
};

// All forms of one convolution, and the choice among their engines.
class ConvolutionChoice {
 public:
  ConvolutionChoice(const ConvolutionShape& shape, CudaLibraries& libraries)
      : shape_(shape),
        libraries_(libraries),
        rules_{.tensor_cores = shape.dtype != DType::f32 || libraries.options().tf32,
               .max_workspace = libraries.options().convolution_workspace} {
    for (const ConvolutionForm& form : forms_of(shape)) add(form);
  }

  // Null where there is no engine.
  std::shared_ptr<const PreparedConvolution> choose() {
    EngineGroups engines(groups_);
    ConvolutionKey key{libraries_.kind(), shape_, rules_.tensor_cores, rules_.max_workspace};
    if (!choose_engine(engines, to_string(key), libraries_.options().tuning)) return nullptr;
    const Form& chosen = forms_[engines.settled()];
    if (chosen.product) chosen.prepared->algorithm = chosen.product->algorithm();
    return chosen.prepared;
  }

 private:
  struct Form {
    std::shared_ptr<PreparedConvolution> prepared;
    std::unique_ptr<ConvolutionEngines> convolution;  // one of these two
    std::unique_ptr<ProductEngines> product;
  };

  void add(const ConvolutionForm& form) {
    Form& added = forms_.emplace_back();
    added.prepared = std::make_shared<PreparedConvolution>(PreparedConvolution{.form = form});
    Engines* engines = nullptr;
    if (form.product) {
      auto time = [this, form](const CudaProduct& product) { return time_product(form, product); };
      added.product =
          std::make_unique<ProductEngines>(product_shape(shape_, form), &libraries_, time);
      engines = added.product.get();
    } else {
      auto time = [this](const PreparedConvolution& prepared, const CudnnPlan& plan) {
        return time_plan(prepared, plan);
      };
      added.convolution =
          std::make_unique<ConvolutionEngines>(shape_, libraries_, rules_, *added.prepared, time);
      engines = added.convolution.get();
    }
    groups_.push_back({to_string(form), engines});
  }

  std::optional<float> time_product(const ConvolutionForm& form, const CudaProduct& product) {
    return timer().time(form, [&](const ConvolutionPointers& pointers, void* stream) {
      product.run(product_pointers(shape_, form, pointers), stream);
    });
  }

  std::optional<float> time_plan(const PreparedConvolution& prepared, const CudnnPlan& plan) {
    CudnnPack pack;
    return timer().time(prepared.form, [&](const ConvolutionPointers& pointers, void* stream) {
      prepared.run(plan, pack, pointers, stream);
    });
  }

  ConvolutionTimer& timer() {
    if (!timer_) timer_.emplace(shape_, libraries_.device(), largest_workspace());
    return *timer_;
  }

  size_t largest_workspace() const {
    size_t bytes = 1;
    for (const Form& form : forms_) {
      if (form.convolution)
        bytes = std::max(bytes, spire::largest_workspace(form.convolution->proposed()));
      if (!form.product) continue;
      for (const CudaProduct& product : form.product->proposed())
        bytes = std::max(bytes, product.workspace_bytes());
    }
    return bytes;
  }

  const ConvolutionShape& shape_;
  CudaLibraries& libraries_;
  CudnnRules rules_;
  std::vector<Form> forms_;
  std::vector<EngineGroup> groups_;
  std::optional<ConvolutionTimer> timer_;
};

std::shared_ptr<const PreparedConvolution> prepare(const ConvolutionShape& shape,
                                                   CudaLibraries& libraries) {
  if (auto prepared = ConvolutionChoice(shape, libraries).choose()) return prepared;
  fail(Category::device,
       "cuDNN {} has no engine that is deterministic and takes at most {} MiB of workspace for "
       "the convolution {}; try another precision or batch size",
       cudnnGetVersion(), libraries.options().convolution_workspace >> 20, to_string(shape));
}

}  // namespace

std::shared_ptr<const PreparedConvolution> prepare_convolution(const ConvolutionShape& shape,
                                                               CudaLibraries& libraries) {
  auto& prepared = libraries.convolutions()[to_string(shape)];
  if (prepared) return prepared;
  PlanClock clock(libraries.plan_store());
  return prepared = prepare(shape, libraries);
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

}  // namespace spire::inline kernels
