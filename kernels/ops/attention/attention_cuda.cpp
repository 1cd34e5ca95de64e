// Attention on a GPU: the choice between cuDNN's engines and Spire's own kernels.
#include "kernels/cuda/attention.h"
#include "kernels/cuda/engine_choice.h"
#include "kernels/kernel.h"
#include "kernels/ops/attention/attention.h"
#include "kernels/ops/attention/attention_makers.h"
#include "kernels/ops/attention/attention_rules.h"
#include "kernels/ops/dropout/dropout.h"

namespace spire {

namespace {

using namespace attention_cuda;

AttentionShape shape_of(AttentionPass pass, const AttentionAttributes& attributes,
                        const TensorSpec& qkv) {
  return {.pass = pass,
          .batch = qkv.shape[0],
          .length = qkv.shape[1],
          .heads = attributes.heads,
          .size = packed_heads(attributes, qkv.shape).size,
          .dtype = qkv.dtype,
          .causal = attributes.causal,
          .dropout = attributes.dropout,
          .kv_heads = attributes.kv_heads,
          .documents = attributes.documents};
}

// Spire's own kernel of a pass on the current device: on tensor cores where attention_rules.h
// allows it, else on plain cores.
NativeAttention native_attention(const AttentionShape& shape, const MakeKernel& mma,
                                 const MakeKernel& plain) {
  if (on_tensor_cores(shape, mma_compiled_for())) return {native_mma_name, mma};
  return {native_name, plain};
}

}  // namespace

Kernel attention_cuda::make_plain_backward(const AttentionBackwardOp& op,
                                           const KernelRequest& request) {
  return with_any_float_type(request.inputs[1].dtype, [&](auto type) {
    return make_typed_plain_backward<decltype(type)>(op, request);
  });
}

template <>
Kernel make_cuda(const AttentionOp& op, const KernelRequest& request) {
  AttentionShape shape = shape_of(AttentionPass::forward, op.attributes(), request.inputs[0]);
  if (shape.dropout > 0) dropout_key(op, request.op_id);
  auto mma = [&] { return make_mma(op, request); };
  auto plain = [&] { return make_plain(op, request); };
  return choose_attention(shape, native_attention(shape, mma, plain), request);
}

template <>
Kernel make_cuda(const AttentionBackwardOp& op, const KernelRequest& request) {
  AttentionShape shape = shape_of(AttentionPass::backward, op.attributes(), request.inputs[1]);
  auto mma = [&] { return make_mma_backward(op, request); };
  auto plain = [&] { return make_plain_backward(op, request); };
  return choose_attention(shape, native_attention(shape, mma, plain), request);
}

}  // namespace spire
