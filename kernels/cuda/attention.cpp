#include "kernels/cuda/attention.h"

#include <algorithm>

#include <spire/error.h>

#include "engine/device/cuda_error.h"
#include "kernels/cuda/cudnn_attention.h"
#include "kernels/cuda/cudnn_plan.h"
#include "kernels/cuda/engine_trial.h"
#include "kernels/cuda/libraries.h"
#include "kernels/ops/attention/attention_rules.h"

namespace spire {

// A pass of attention with its cuDNN engine. Kernels of the same shape on a device share one.
struct PreparedAttention {
  PreparedAttention(const AttentionShape& shape, const AttentionShare& share, const Cudnn& cudnn)
      : attention(shape, share, cudnn) {}

  size_t workspace_bytes(const CudnnPlan& by) const {
    return attention.delta_bytes() + by.workspace_bytes();
  }

  // Runs one share after another. packs: of the caller, one per share.
  void run(const CudnnPlan& by, std::span<CudnnVariantPack> packs, const AttentionPointers& whole,
           void* stream) const {
    void* workspace = static_cast<char*>(whole.workspace) + attention.delta_bytes();
    for (size_t i = 0; i < packs.size(); ++i) {
      CudnnAttention::Tensors t = attention.tensors(whole, static_cast<int64_t>(i));
      by.run(packs[i], std::span(t.ids).first(t.count), std::span(t.pointers).first(t.count),
             workspace, stream);
    }
  }

  CudnnAttention attention;
  std::optional<CudnnPlan> plan;  // set once an engine is chosen
};

namespace {

// Sorts a kernel's arguments: forward (qkv) -> (y, logsumexp), backward (dy, qkv, y, logsumexp) ->
// (dqkv).
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

// Tries plans and the native kernel on tensors of the real size.
class AttentionTrial {
 public:
  // Throws Error(out_of_memory).
  AttentionTrial(const AttentionShape& shape, const PreparedAttention& prepared,
                 const KernelRequest& request, size_t workspace)
      : pass_(shape.pass),
        prepared_(prepared),
        packs_(static_cast<size_t>(prepared.attention.shares())),
        trial_(request.cuda->device()) {
    for (const TensorSpec& spec : request.inputs) inputs_.push_back(trial_.allocate_numbers(spec));
    for (const TensorSpec& spec : request.outputs)
      outputs_.push_back(trial_.allocate_numbers(spec));
    args_ = {.inputs = inputs_, .outputs = outputs_, .workspace = trial_.allocate(workspace)};
  }

  std::optional<float> time(const CudnnPlan& plan) {
    return trial_.time([&](void* stream) { run(plan, stream); });
  }
  bool repeats(const CudnnPlan& plan) {
    return trial_.repeats([&](void* stream) { run(plan, stream); }, outputs_[0]);
  }
  std::optional<float> time(Kernel& native) {
    return trial_.time([&](void* stream) {
      args_.stream = stream;
      native.run(args_);
    });
  }

 private:
  void run(const CudnnPlan& plan, void* stream) {
    prepared_.run(plan, packs_, attention_pointers(pass_, args_), stream);
  }

  AttentionPass pass_;
  const PreparedAttention& prepared_;
  std::vector<CudnnVariantPack> packs_;
  EngineTrial trial_;
  std::vector<const void*> inputs_;
  std::vector<void*> outputs_;
  KernelArgs args_;
};

// Makes the native kernel; none if heads are too wide for it.
Kernel make_if_possible(const NativeAttention& native) {
  try {
    return native.make();
  } catch (const Error& error) {
    if (error.category() != Category::config) throw;
    return {};
  }
}

// The choice between cuDNN's engines and the native kernel.
class AttentionChoice {
 public:
  AttentionChoice(const AttentionShape& shape, const NativeAttention& native,
                  const KernelRequest& request, PreparedAttention& prepared)
      : shape_(shape),
        request_(request),
        prepared_(prepared),
        native_name_(native.name),
        native_(make_if_possible(native)),
        rules_{.max_workspace = request.cuda->options().attention_workspace},
        // The workspace is part of the name: it decides how large a share one run computes.
        engines_(request.cuda->cudnn(), prepared.attention.graph(), rules_,
                 request.cuda->plan_store(), key(request.cuda->cudnn().kind),
                 {[this](const CudnnPlan& plan) { return trial().time(plan); },
                  [this](const CudnnPlan& plan) { return trial().repeats(plan); }}) {}

  // Sets the plan and returns true if an engine of cuDNN is chosen.
  bool choose() {
    EnginesAndNative::TimeNative time_native;
    if (native_) time_native = [this] { return trial().time(native_); };
    EnginesAndNative all(engines_, time_native, native_name_);
    if (!choose_engine(all, key(request_.cuda->kind()), request_.cuda->options().tuning))
      return false;
    if (all.is_native()) return false;
    prepared_.plan = engines_.take_selected();
    return true;
  }

 private:
  std::string key(std::string device) const {
    return to_string(AttentionKey{std::move(device), shape_, rules_.max_workspace});
  }
  // Made at the first trial, when all proposals and so the largest workspace are known.
  AttentionTrial& trial() {
    size_t bytes = prepared_.attention.delta_bytes() + largest_workspace(engines_.proposed());
    if (native_) bytes = std::max(bytes, native_.workspace_bytes());
    if (!trial_) trial_.emplace(shape_, prepared_, request_, bytes);
    return *trial_;
  }

  const AttentionShape& shape_;
  const KernelRequest& request_;
  PreparedAttention& prepared_;
  std::string native_name_;
  Kernel native_;
  CudnnRules rules_;
  CudnnEngines engines_;
  std::optional<AttentionTrial> trial_;
};

// Describes the pass to cuDNN. Null if no share fits the workspace, or this cuDNN does not know
// such a graph.
std::shared_ptr<PreparedAttention> describe_attention(const AttentionShape& shape,
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

// Returns the prepared pass, from the libraries' cache if a kernel of this shape was made before.
// Null: the native kernel is chosen. REQUIRES: the device is the thread's current one.
std::shared_ptr<const PreparedAttention> prepare_attention(const AttentionShape& shape,
                                                           const NativeAttention& native,
                                                           const KernelRequest& request) {
  auto& known = request.cuda->attentions();
  std::string name = to_string(shape);
  if (auto found = known.find(name); found != known.end()) return found->second;
  PlanClock clock(request.cuda->plan_store());
  auto prepared = describe_attention(shape, *request.cuda);
  if (prepared && !AttentionChoice(shape, native, request, *prepared).choose()) prepared = nullptr;
  return known[name] = prepared;  // not before, as a choice that throws must be made again
}

CudnnOnDevice current_device() {
  int device = 0, major = 0, minor = 0;
  check_cuda(cudaGetDevice(&device), "cudaGetDevice");
  check_cuda(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device),
             "cudaDeviceGetAttribute");
  check_cuda(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device),
             "cudaDeviceGetAttribute");
  return {10 * major + minor, cudnn_calls().version()};
}

// A kernel of cuDNN. The plan is shared; variant packs, which a run rewrites, are its own.
Kernel cudnn_attention(AttentionPass pass, const std::shared_ptr<const PreparedAttention>& shared,
                       const Cudnn& cudnn) {
  std::vector<CudnnVariantPack> packs;
  for (int64_t share = 0; share < shared->attention.shares(); ++share) packs.emplace_back(cudnn);
  auto run = [pass, shared, packs = std::move(packs)](const KernelArgs& args) mutable {
    shared->run(*shared->plan, packs, attention_pointers(pass, args), args.stream);
  };
  return Kernel(std::move(run), shared->workspace_bytes(*shared->plan));
}

}  // namespace

Kernel choose_attention(const AttentionShape& shape, const NativeAttention& native,
                        const KernelRequest& request) {
  bool asks = request.cuda && request.cuda->options().cudnn_attention;
  if (!asks || !may_be_cudnns(shape, current_device())) return native.make();
  auto prepared = prepare_attention(shape, native, request);
  if (!prepared) return native.make();
  return cudnn_attention(shape.pass, prepared, request.cuda->cudnn());
}

}  // namespace spire
