// Expand on a GPU. Forward: a thread writes its pack of x to many samples. Backward: the column
// sums of cuda/channel_grid.h, with samples as rows.
#include "kernels/cuda/channel_grid.h"
#include "kernels/kernel.h"
#include "kernels/ops/expand/expand.h"

namespace spire {

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

}  // namespace

template <>
Kernel make_cuda(const ExpandOp&, const KernelRequest& request) {
  return with_any_float_type(request.inputs[0].dtype, [&]<typename From>(From) {
    ChannelGrid grid(request.outputs[0].shape[0], request.inputs[0].shape.elements(), 4, 4096);
    return cuda_kernel(request.outputs[0].dtype, [grid]<typename To>(To, const KernelArgs& args) {
      launch(grid.width == channel_width ? expand_kernel<channel_width, From, To>
                                         : expand_kernel<1, From, To>,
             grid.blocks(), channel_threads, args.stream, grid, args.in<From>(0), args.out<To>(0));
    });
  });
}

// dx[c] = sum over samples of dy[sample, c]. To: a parameter's gradient is fp32, an activation's
// has its dtype.
template <>
Kernel make_cuda(const ExpandBackwardOp&, const KernelRequest& request) {
  return with_any_float_type(request.inputs[0].dtype, [&]<typename From>(From) {
    return with_any_float_type(request.outputs[0].dtype, [&]<typename To>(To) {
      int64_t columns = request.outputs[0].shape.elements();
      ColumnSums<From, To> sums(request.inputs[0].shape[0], columns, columns);
      auto run = [sums](const KernelArgs& args) {
        sums.run(args.stream, args.in<From>(0), args.workspace, args.out<To>(0));
      };
      return Kernel(run, sums.workspace_bytes());
    });
  });
}

}  // namespace spire
