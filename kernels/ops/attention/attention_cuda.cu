// Attention on a GPU: the choice of a kernel for each pass, and the small kernel that both
// backwards begin with, delta_i = dy_i . y_i.
#include "engine/device/cuda_kernel.h"
#include "kernels/autotune/engine_choice.h"
#include "kernels/cuda/divide.h"
#include "kernels/ops/attention/attention_cuda.h"
#include "kernels/ops/attention/attention_rules.h"
#include "kernels/typed_kernel.h"

namespace spire::inline kernels {

namespace attention_cuda {

namespace {

constexpr int threads = 256;
constexpr int warps = threads / warp_threads;

// A warp takes one position of one head.
template <typename T>
__global__ void __launch_bounds__(threads)
    attention_delta_kernel(AttentionExtents e, Divider heads, Divider length, const T* dy,
                           const T* y, float* delta) {
  int64_t i = int64_t{blockIdx.x} * warps + threadIdx.x / warp_threads;
  if (i >= e.batch * e.length * e.heads) return;
  float sum = 0;
  for (int c = static_cast<int>(threadIdx.x) % warp_threads; c < e.size; c += warp_threads)
    sum += static_cast<float>(dy[i * e.size + c]) * static_cast<float>(y[i * e.size + c]);
  sum = warp_reduce(sum, Sum{});
  auto [position, head] = heads.divide(i);
  auto [sample, t] = length.divide(position);
  if (threadIdx.x % warp_threads == 0) delta[(sample * e.heads + head) * e.length + t] = sum;
}

}  // namespace

void launch_delta(const AttentionExtents& e, DType dtype, const void* dy, const void* y,
                  float* delta, void* stream) {
  auto blocks = blocks_for(e.batch * e.length * e.heads, warps);
  with_cuda_float_type(dtype, [&](auto type) {
    using T = decltype(type);
    launch(attention_delta_kernel<T>, blocks, threads, stream, e, Divider(e.heads),
           Divider(e.length), static_cast<const T*>(dy), static_cast<const T*>(y), delta);
  });
}

}  // namespace attention_cuda

namespace {

using namespace attention_cuda;

// Spire's own kernel of a pass on the current device: on tensor cores where attention_rules.h
// allows it, else on plain cores.
NativeAttention native_attention(const AttentionShape& shape, const MakeKernel& mma,
                                 const MakeKernel& plain) {
  if (on_tensor_cores(shape, mma_compiled_for())) return {native_mma_name, mma};
  return {native_name, plain};
}

// Not in make_cuda: nvcc refuses a std::function of a lambda in a function template's
// specialization.
std::unique_ptr<Kernel> choose_forward(const AttentionOp& op, const KernelRequest& request) {
  AttentionShape shape = shape_of(AttentionPass::forward, op.attributes(), request.inputs[0]);
  auto mma = [&] { return make_mma(op, request); };
  auto plain = [&] { return make_plain(op, request); };
  return choose_attention(shape, native_attention(shape, mma, plain), request);
}

std::unique_ptr<Kernel> choose_backward(const AttentionBackwardOp& op,
                                        const KernelRequest& request) {
  AttentionShape shape = shape_of(AttentionPass::backward, op.attributes(), request.inputs[1]);
  auto mma = [&] { return make_mma_backward(op, request); };
  auto plain = [&] { return make_plain_backward(op, request); };
  return choose_attention(shape, native_attention(shape, mma, plain), request);
}

}  // namespace

template <>
std::unique_ptr<Kernel> make_cuda(const AttentionOp& op, const KernelRequest& request) {
  return choose_forward(op, request);
}

template <>
std::unique_ptr<Kernel> make_cuda(const AttentionBackwardOp& op, const KernelRequest& request) {
  return choose_backward(op, request);
}

}  // namespace spire::inline kernels
