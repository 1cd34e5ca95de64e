// Gather on the CPU, of x as (outer, length, inner). Forward: threads share the (outer, k) and copy
// inner elements. Backward: a thread sums one outer index at a time in fp32, in the order of k.
#include <algorithm>
#include <limits>

#include <Eigen/Core>

#include "kernels/cpu/elementwise.h"
#include "kernels/kernel.h"
#include "kernels/ops/gather/gather.h"

namespace spire {

namespace {

template <typename T>
using RowMajorArray = Eigen::Array<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// (outer, length, inner): the axes before the one that is indexed, that one, and those behind.
struct GatherExtents {
  int64_t outer = 1, length, taken, inner = 1;

  GatherExtents(const Shape& indexed, int64_t indices, int axis)
      : length(indexed[axis]), taken(indices) {
    for (int i = 0; i < indexed.rank(); ++i) {
      if (i != axis) (i < axis ? outer : inner) *= indexed[i];
    }
  }
  bool holds(int32_t index) const { return index >= 0 && index < length; }
};

}  // namespace

template <>
Kernel make_cpu(const GatherOp& op, const KernelRequest& request) {
  return with_float_type(request.inputs[0].dtype, [&](auto type) -> Kernel {
    using T = decltype(type);
    GatherExtents e(request.inputs[0].shape, request.inputs[1].shape[0], op.axis());
    return [e, threads = request.threads](const KernelArgs& args) {
      auto x = args.in<T>(0);
      auto indices = args.in<int32_t>(1);
      auto y = args.out<T>(0);
      parallel_for(threads, e.outer * e.taken, 16, [&](int64_t begin, int64_t end, int) {
        for (int64_t i = begin; i < end; ++i) {
          int32_t index = indices[i % e.taken];  // outside of the axis: NaN, which a run reports
          if (e.holds(index)) {
            std::copy_n(x + (i / e.taken * e.length + index) * e.inner, e.inner, y + i * e.inner);
          } else {
            std::fill_n(y + i * e.inner, e.inner, T(std::numeric_limits<float>::quiet_NaN()));
          }
        }
      });
    };
  });
}

// Workspace: the sums of one outer index, for each thread.
template <>
Kernel make_cpu(const GatherBackwardOp& op, const KernelRequest& request) {
  return with_float_type(request.inputs[0].dtype, [&](auto type) {
    using T = decltype(type);
    GatherExtents e(request.outputs[0].shape, request.inputs[1].shape[0], op.axis());
    int64_t sums = e.length * e.inner;
    auto run = [e, sums, threads = request.threads](const KernelArgs& args) {
      Eigen::Map<const RowMajorArray<T>> dy(args.in<T>(0), e.outer * e.taken, e.inner);
      auto indices = args.in<int32_t>(1);
      auto dx = args.out<T>(0);
      parallel_for(threads, e.outer, 1, [&](int64_t begin, int64_t end, int chunk) {
        float* scratch = args.scratch<float>() + chunk * sums;
        Eigen::Map<RowMajorArray<float>> sum(scratch, e.length, e.inner);
        for (int64_t o = begin; o < end; ++o) {
          sum.setZero();
          // An index may occur several times: its rows of dy are added in their order.
          for (int64_t k = 0; k < e.taken; ++k) {
            if (!e.holds(indices[k])) continue;
            sum.row(indices[k]) += dy.row(o * e.taken + k).template cast<float>();
          }
          copy_range(scratch, dx + o * sums, sums);
        }
      });
    };
    return Kernel(run, static_cast<size_t>(request.threads * sums) * sizeof(float));
  });
}

}  // namespace spire
