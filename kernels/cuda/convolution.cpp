#include "kernels/cuda/convolution.h"

#include <algorithm>

#include "engine/base/fail.h"
#include "kernels/cuda/convolution_form.h"
#include "kernels/cuda/cudnn_convolution.h"
#include "kernels/cuda/cudnn_plan.h"
#include "kernels/cuda/engine_trial.h"
#include "kernels/cuda/libraries.h"
#include "kernels/cuda/packing.h"
#include "kernels/ops/bias/bias.h"

namespace spire {

// A convolution with its chosen engine. Kernels of the same shape on a device share one.
struct PreparedConvolution {
  // Runs a plan. pack: of the caller. REQUIRES: the form is cuDNN's.
  void run(const CudnnPlan& by, CudnnVariantPack& pack, const ConvolutionPointers& p,
           void* stream) const {
    using C = CudnnConvolution;
    constexpr int64_t ids[] = {C::x_id, C::filter_id, C::y_id, C::bias_id};
    // Of x, filter and y the pass reads two; the third is the one that it writes.
    auto at = [&](const void* read) { return read ? const_cast<void*>(read) : p.result; };
    void* const pointers[] = {at(p.x), at(p.filter), at(p.y), const_cast<float*>(p.bias)};
    size_t count = p.bias && form.fused ? 4 : 3;
    by.run(pack, std::span(ids).first(count), std::span(pointers).first(count), p.workspace,
           stream);
  }

  ConvolutionForm form;
  // By cuDNN: its graph and plan. A plan refers to the graph.
  std::optional<CudnnConvolution> convolution = {};
  std::optional<CudnnPlan> plan = {};
  // By cuBLASLt: the text from which each kernel makes a product of its own (CudaProduct::recall).
  std::string algorithm = {};
};

namespace {

// Tries forms of a convolution on tensors of the real size.
class ConvolutionTrial {
 public:
  // Throws Error(out_of_memory). REQUIRES: as EngineTrial.
  ConvolutionTrial(const ConvolutionShape& s, DeviceId device, size_t workspace_bytes)
      : shape_(s),
        filter_{s.y[3], s.x[3] / s.groups, s.window.kernel.h, s.window.kernel.w},
        trial_(device) {
    void* x = trial_.allocate_numbers({s.x, s.dtype});
    void* y = trial_.allocate_numbers({s.y, s.dtype});
    bool gradient = s.pass == ConvolutionPass::backward_weights;  // the widest is fp32
    void* w = trial_.allocate_numbers({filter_, gradient ? DType::f32 : s.dtype});
    pointers_ = {.x = x, .filter = w, .y = y};
    if (s.pass == ConvolutionPass::forward) pointers_.y = nullptr, pointers_.result = y;
    if (s.pass == ConvolutionPass::backward_data) pointers_.x = nullptr, pointers_.result = x;
    if (gradient) {
      pointers_.filter = nullptr, pointers_.result = w;
      plain_ = static_cast<float*>(trial_.allocate_numbers({filter_, DType::f32}));
    }
    if (s.bias)
      pointers_.bias = static_cast<float*>(trial_.allocate_numbers({{s.y[3]}, DType::f32}));
    pointers_.workspace = trial_.allocate(std::max<size_t>(1, workspace_bytes));
  }

  // Returns the milliseconds of `run` and of the passes that the form leaves to the caller, none if
  // it fails.
  using Run = std::function<void(const ConvolutionPointers& pointers, void* stream)>;
  std::optional<float> time(const ConvolutionForm& form, const Run& run) {
    return trial_.time([&](void* stream) {
      run(pointers_, stream);
      finish(form, stream);
    });
  }
  bool repeats(const Run& run) {
    return trial_.repeats([&](void* stream) { run(pointers_, stream); }, pointers_.result);
  }

 private:
  // Runs the passes after the engine: bias and relu unless fused, and the conversion of a filter's
  // gradient to the plain layout and fp32.
  void finish(const ConvolutionForm& form, void* stream) const {
    if (!form.fused)
      add_bias_relu_cuda({shape_.y, shape_.dtype}, pointers_.bias, shape_.relu, pointers_.result,
                         stream);
    bool in_place = same_order(filter_) && form.result == DType::f32;
    if (plain_ && !in_place)
      krsc_to_plain(filter_, filter_[1], form.result, pointers_.result, plain_, stream);
  }

  ConvolutionShape shape_;
  Shape filter_;  // plain: (O, C / groups, KH, KW)
  EngineTrial trial_;
  ConvolutionPointers pointers_;
  float* plain_ = nullptr;  // a filter's gradient
};

// The choice among the engines of all forms of a convolution.
class ConvolutionChoice {
 public:
  ConvolutionChoice(const ConvolutionShape& shape, CudaLibraries& libraries)
      : shape_(shape),
        libraries_(libraries),
        rules_{.tensor_cores = shape.dtype != DType::f32 || libraries.options().tf32,
               .max_workspace = libraries.options().convolution_workspace} {
    for (const ConvolutionForm& form : forms_of(shape)) add(form);
  }

  // Returns null if no form has an engine.
  std::shared_ptr<const PreparedConvolution> choose() {
    EngineGroups engines(groups_);
    ConvolutionKey key{libraries_.kind(), shape_, rules_.tensor_cores, rules_.max_workspace};
    if (!choose_engine(engines, to_string(key), libraries_.options().tuning)) return nullptr;
    Form& chosen = forms_[engines.selected()];
    if (chosen.product) chosen.prepared->algorithm = chosen.product->algorithm();
    if (chosen.convolution) chosen.prepared->plan = chosen.convolution->take_selected();
    return chosen.prepared;
  }

 private:
  struct Form {
    std::shared_ptr<PreparedConvolution> prepared;
    std::unique_ptr<CudnnEngines> convolution;  // one of these two
    std::unique_ptr<ProductEngines> product;
  };

  void add(const ConvolutionForm& form) {
    Form& added = forms_.emplace_back();
    added.prepared = std::make_shared<PreparedConvolution>(PreparedConvolution{.form = form});
    Engines* engines = form.product ? add_product(added) : add_convolution(added);
    groups_.push_back({to_string(form), engines, form.last_resort});
  }

  Engines* add_product(Form& added) {
    ConvolutionForm form = added.prepared->form;
    auto run_of = [this, form](const CudaProduct& product) {
      return [this, form, &product](const ConvolutionPointers& pointers, void* stream) {
        product.run(product_pointers(shape_, form, pointers), stream);
      };
    };
    added.product = std::make_unique<ProductEngines>(product_shape(shape_, form), &libraries_,
                                                     trials_of<CudaProduct>(form, run_of));
    return added.product.get();
  }

  Engines* add_convolution(Form& added) {
    PreparedConvolution& prepared = *added.prepared;
    const Cudnn& cudnn = libraries_.cudnn();
    prepared.convolution.emplace(shape_, prepared.form, cudnn);
    auto run_of = [&prepared](const CudnnPlan& plan) {
      return [&prepared, &plan](const ConvolutionPointers& pointers, void* stream) {
        CudnnVariantPack pack;
        prepared.run(plan, pack, pointers, stream);
      };
    };
    std::string name = fmt::format("{}, convolution {}, {}", cudnn.kind, to_string(shape_),
                                   to_string(prepared.form));
    added.convolution = std::make_unique<CudnnEngines>(cudnn, prepared.convolution->graph(), rules_,
                                                       libraries_.plan_store(), std::move(name),
                                                       trials_of<CudnnPlan>(prepared.form, run_of));
    return added.convolution.get();
  }

  // run_of(engine) returns a function that runs it.
  template <typename Engine, typename RunOf>
  EngineTrials<Engine> trials_of(const ConvolutionForm& form, const RunOf& run_of) {
    return {[=, this](const Engine& engine) { return trial().time(form, run_of(engine)); },
            [=, this](const Engine& engine) { return trial().repeats(run_of(engine)); }};
  }

  // Made at the first trial, when all proposals and so the largest workspace are known.
  ConvolutionTrial& trial() {
    if (!trial_) trial_.emplace(shape_, libraries_.device(), workspace_of_any());
    return *trial_;
  }

  size_t workspace_of_any() const {
    size_t bytes = 1;
    for (const Form& form : forms_) {
      if (form.convolution)
        bytes = std::max(bytes, largest_workspace(form.convolution->proposed()));
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
  std::vector<EngineGroup> groups_;  // in the order of forms_
  std::optional<ConvolutionTrial> trial_;
};

// Returns the prepared convolution, from the libraries' cache if a kernel of this shape was made
// before. Throws Error(device) if no engine keeps to the rules. REQUIRES: the device is the
// thread's current one.
std::shared_ptr<const PreparedConvolution> prepare_convolution(const ConvolutionShape& shape,
                                                               CudaLibraries& libraries) {
  auto& prepared = libraries.convolutions()[to_string(shape)];
  if (prepared) return prepared;
  PlanClock clock(libraries.plan_store());
  prepared = ConvolutionChoice(shape, libraries).choose();
  if (prepared) return prepared;
  fail(Category::device,
       "cuDNN {} has no engine that is deterministic and takes at most {} MiB of workspace for "
       "the convolution {}; try another precision or batch size",
       cudnn_calls().version(), libraries.options().convolution_workspace >> 20, to_string(shape));
}

}  // namespace

struct CudaConvolution::Prepared {
  ConvolutionShape shape;
  std::shared_ptr<const PreparedConvolution> shared;
  CudnnVariantPack pack;
  std::optional<CudaProduct> product = {};  // not shared: its description holds the bias pointer
};

CudaConvolution::CudaConvolution(const ConvolutionShape& shape, CudaLibraries* libraries) {
  require(libraries != nullptr, "a convolution needs the device's libraries");
  auto shared = prepare_convolution(shape, *libraries);
  prepared_ =
      std::make_unique<Prepared>(Prepared{shape, shared, CudnnVariantPack(libraries->cudnn())});
  const ConvolutionForm& form = shared->form;
  if (!form.product) return;
  prepared_->product =
      CudaProduct::recall(product_shape(shape, form), libraries, shared->algorithm);
  require(prepared_->product.has_value(), "a product is made by the algorithm chosen for it");
}

CudaConvolution::~CudaConvolution() {}
CudaConvolution::CudaConvolution(CudaConvolution&&) noexcept = default;

bool CudaConvolution::adds_bias_relu() const {
  return prepared_->shared->form.fused;
}

DType CudaConvolution::result_dtype() const {
  return prepared_->shared->form.result;
}

size_t CudaConvolution::workspace_bytes() const {
  if (prepared_->product) return prepared_->product->workspace_bytes();
  return prepared_->shared->plan->workspace_bytes();
}

void CudaConvolution::run(const ConvolutionPointers& pointers, void* stream) const {
  const PreparedConvolution& shared = *prepared_->shared;
  if (prepared_->product)
    return prepared_->product->run(product_pointers(prepared_->shape, shared.form, pointers),
                                   stream);
  shared.run(*shared.plan, prepared_->pack, pointers, stream);
}

}  // namespace spire
