// Expand on a GPU. Forward: a thread writes its pack of x to many samples. Backward: the column
// sums of cuda/channel_grid.h, with samples as rows.
#include "kernels/cuda/channel_grid.h"
#include "kernels/kernel.h"
#include "kernels/ops/expand/expand.h"
#include "kernels/typed_kernel.h"

namespace spire::inline kernels {

namespace {

// A sample is a row, its elements are the channels: a thread loads its channels of x once.
template <int N, typename From, typename To>
__global__ void __launch_bounds__(channel_threads)
    expand_kernel(ChannelGrid g, const From* x, To* y) {
  ChannelSlice slice = channel_slice(g);
  if (slice.first >= slice.end) return;
  auto from = load_pack<N>(x + slice.channel);
  Pack<To, N> pack;
  for (int i = 0; i < N; ++i) pack.at[i] = To(static_cast<float>(from.at[i]));
  for (int64_t row = slice.first; row < slice.end; row += g.step)
    store_pack(pack, y + row * g.channels + slice.channel);
}

template <typename From, typename To>
class ExpandCudaKernel : public Kernel {
 public:
  explicit ExpandCudaKernel(const KernelRequest& request)
      : grid_(request.outputs[0].shape[0], request.inputs[0].shape.elements(), 4, 4096) {}

  void run(const KernelArgs& args) override {
    launch(grid_.width == channel_width ? expand_kernel<channel_width, From, To>
                                        : expand_kernel<1, From, To>,
           grid_.blocks(), channel_threads, args.stream, grid_,
           static_cast<const From*>(args.inputs[0]), static_cast<To*>(args.outputs[0]));
  }

 private:
  ChannelGrid grid_;
};

// dx[c] = sum over samples of dy[sample, c]. To: a parameter's gradient is fp32, an activation's
// has its dtype.
template <typename From, typename To>
class ExpandBackwardCudaKernel : public Kernel {
 public:
  explicit ExpandBackwardCudaKernel(const KernelRequest& request)
      : sums_(request.inputs[0].shape[0], request.outputs[0].shape.elements(),
              request.outputs[0].shape.elements()) {}

  size_t workspace_bytes() const override { return sums_.workspace_bytes(); }

  void run(const KernelArgs& args) override {
    sums_.run(args.stream, static_cast<const From*>(args.inputs[0]), args.workspace,
              static_cast<To*>(args.outputs[0]));
  }

 private:
  ColumnSums<From, To> sums_;
};

template <template <typename, typename> class K>
std::unique_ptr<Kernel> make_expand(const KernelRequest& request) {
  return with_cuda_float_type(request.inputs[0].dtype, [&](auto from) {
    return with_cuda_float_type(request.outputs[0].dtype, [&](auto to) -> std::unique_ptr<Kernel> {
      return std::make_unique<K<decltype(from), decltype(to)>>(request);
    });
  });
}

}  // namespace

template <>
std::unique_ptr<Kernel> make_cuda(const ExpandOp&, const KernelRequest& request) {
  return make_expand<ExpandCudaKernel>(request);
}

template <>
std::unique_ptr<Kernel> make_cuda(const ExpandBackwardOp&, const KernelRequest& request) {
  return make_expand<ExpandBackwardCudaKernel>(request);
}

}  // namespace spire::inline kernels
