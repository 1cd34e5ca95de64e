#include "kernels/nvidia/prepared_attention.h"

#include <algorithm>

#include "kernels/autotune/engine_timer.h"
#include "kernels/autotune/native_kernel.h"
#include "kernels/nvidia/attention_key.h"
#include "kernels/nvidia/cuda_libraries.h"

namespace spire::inline kernels {
namespace {

// Attention to be timed, with tensors of the real size.
class AttentionTimer {
 public:
  // Throws Error(out_of_memory).
  AttentionTimer(const AttentionShape& shape, const PreparedAttention& prepared,
                 const KernelRequest& request, size_t workspace)
      : pass_(shape.pass),
        prepared_(prepared),
        packs_(static_cast<size_t>(prepared.attention.shares())),
        timer_(request.cuda->device()) {
    for (const TensorSpec& spec : request.inputs) inputs_.push_back(timer_.allocate(spec.bytes()));
    for (const TensorSpec& spec : request.outputs)
      outputs_.push_back(timer_.allocate(spec.bytes()));
    args_ = {.inputs = inputs_, .outputs = outputs_, .workspace = timer_.allocate(workspace)};
  }

  std::optional<float> time(const CudnnPlan& plan) {
    AttentionPointers pointers = attention_pointers(pass_, args_);
    return timer_.time([&](void* stream) { prepared_.run(plan, packs_, pointers, stream); });
  }
  std::optional<float> time(Kernel& own) {
    return timer_.time([&](void* stream) {
      args_.stream = stream;
      own.run(args_);
    });
  }

 private:
  AttentionPass pass_;
  const PreparedAttention& prepared_;
  std::vector<CudnnPack> packs_;
  EngineTimer timer_;
  std::vector<const void*> inputs_;
  std::vector<void*> outputs_;
  KernelArgs args_;
};

class AttentionEngines : public Engines {
 public:
  // own: null where there is none.
  AttentionEngines(const AttentionShape& shape, const KernelRequest& request, Kernel* own,
                   PreparedAttention& prepared)
      : shape_(shape), request_(request), own_(own), prepared_(prepared) {}

  bool recall(const std::string& name) override {
    prepared_.plan = CudnnPlan::recall(cudnn(), graph(), name, rules(), request_.cuda->plan_store(),
                                       name_in_store());
    return prepared_.plan.has_value();
  }
  size_t propose(size_t most) override {
    plans_ = CudnnPlan::find(cudnn(), graph(), rules(), most);
    return plans_.size();
  }
  std::optional<float> time(size_t index) override { return timer().time(plans_[index]); }
  std::optional<float> time_native() { return timer().time(*own_); }
  std::string settle(size_t index) override {
    prepared_.plan = std::move(plans_[index]);
    prepared_.plan->keep(request_.cuda->plan_store(), name_in_store());
    return prepared_.plan->engine();
  }

 private:
  const Cudnn& cudnn() const { return request_.cuda->cudnn(); }
  const CudnnDescriptor& graph() const { return prepared_.attention.graph(); }
  // The workspace decides how much of it one run does.
  std::string name_in_store() const {
    return to_string(AttentionKey{cudnn().kind, shape_, rules().max_workspace});
  }
  CudnnRules rules() const {
    return {.max_workspace = request_.cuda->options().attention_workspace};
  }
  AttentionTimer& timer() {
    size_t bytes = prepared_.attention.delta_bytes() + largest_workspace(plans_);
    if (own_) bytes = std::max(bytes, own_->workspace_bytes());
    if (!timer_) timer_.emplace(shape_, prepared_, request_, bytes);
    return *timer_;
  }

  const AttentionShape& shape_;
  const KernelRequest& request_;
  Kernel* own_;
  PreparedAttention& prepared_;
  std::vector<CudnnPlan> plans_;
  std::optional<AttentionTimer> timer_;
};

// Null where there is no cuDNN that knows such a graph.
std::shared_ptr<PreparedAttention> describe(const AttentionShape& shape,
                                            const CudaLibraries& libraries) {
  auto share = share_within(shape, libraries.options().attention_workspace);
  if (!share) return nullptr;
  try {
    return std::make_shared<PreparedAttention>(shape, *share, libraries.cudnn());
  } catch (const Error& error) {
    if (error.category() != Category::device) throw;
    return nullptr;
  }
}

// Null for heads that are too wide.
std::unique_ptr<Kernel> own_or_none(const NativeAttention& own) {
  try {
    return own.make();
  } catch (const Error& error) {
    if (error.category() != Category::config) throw;
    return nullptr;
  }
}

std::shared_ptr<const PreparedAttention> prepare(const AttentionShape& shape,
                                                 const NativeAttention& own,
                                                 const KernelRequest& request) {
  const CudaLibraries& libraries = *request.cuda;
  auto prepared = describe(shape, libraries);
  if (!prepared) return nullptr;
  std::unique_ptr<Kernel> rival = own_or_none(own);
  AttentionEngines library(shape, request, rival.get(), *prepared);
  EnginesAndNative::TimeNative time_native;
  if (rival) time_native = [&] { return library.time_native(); };
  EnginesAndNative engines(library, time_native, own.name);
  AttentionKey key{libraries.kind(), shape, libraries.options().attention_workspace};
  bool chosen = choose_engine(engines, to_string(key), libraries.options().tuning);
  return chosen && !engines.is_native() ? prepared : nullptr;
}

}  // namespace

std::shared_ptr<const PreparedAttention> prepare_attention(const AttentionShape& shape,
                                                           const NativeAttention& own,
                                                           const KernelRequest& request) {
  auto [found, is_new] = request.cuda->attentions().try_emplace(to_string(shape));
  if (!is_new) return found->second;
  PlanClock clock(request.cuda->plan_store());
  return found->second = prepare(shape, own, request);
}

AttentionPointers attention_pointers(AttentionPass pass, const KernelArgs& args) {
  auto in = [&](size_t i) { return const_cast<void*>(args.inputs[i]); };
  if (pass == AttentionPass::forward)
    return {.qkv = in(0),
            .y = args.outputs[0],
            .logsumexp = args.outputs[1],
            .workspace = args.workspace};
  return {.qkv = in(1),
          .y = in(2),
          .logsumexp = in(3),
          .dy = in(0),
          .dqkv = args.outputs[0],
          .workspace = args.workspace};
}

void PreparedAttention::run(const CudnnPlan& by, std::span<CudnnPack> packs,
                            const AttentionPointers& whole, void* stream) const {
  void* workspace = static_cast<char*>(whole.workspace) + attention.delta_bytes();
  for (size_t i = 0; i < packs.size(); ++i) {
    CudnnAttention::Tensors t = attention.tensors(whole, static_cast<int64_t>(i));
    by.run(packs[i], std::span(t.ids).first(t.count), std::span(t.pointers).first(t.count),
           workspace, stream);
  }
}

}  // namespace spire::inline kernels
