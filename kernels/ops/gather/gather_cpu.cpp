// Gather on the CPU, of x as (outer, length, inner). Forward: threads share the (outer, k) and copy
// inner elements. Backward: a thread sums one outer index at a time in fp32, in the order of k.
#include <algorithm>
#include <limits>

#include <Eigen/Core>

#include "kernels/cpu/elementwise.h"
#include "kernels/ops/gather/gather.h"
#include "kernels/typed_kernel.h"

namespace spire::inline kernels {

namespace {

template <typename T>
using RowMajorArray = Eigen::Array<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// (outer, length, inner): the axes before the one that is indexed, that one, and those behind.
struct GatherExtents {
  int64_t outer = 1, length, taken, inner = 1;
  int threads;

  GatherExtents(const Shape& indexed, int64_t indices, int axis, int thread_count)
      : length(indexed[axis]), taken(indices), threads(thread_count) {
    for (int i = 0; i < indexed.rank(); ++i) {
      if (i != axis) (i < axis ? outer : inner) *= indexed[i];
    }
  }
  bool holds(int32_t index) const { return index >= 0 && index < length; }
};

template <typename T>
class GatherCpuKernel : public Kernel {
 public:
  explicit GatherCpuKernel(const GatherExtents& extents) : e_(extents) {}

  void run(const KernelArgs& args) override {
    auto x = static_cast<const T*>(args.inputs[0]);
    auto indices = static_cast<const int32_t*>(args.inputs[1]);
    auto y = static_cast<T*>(args.outputs[0]);
    parallel_for(e_.threads, e_.outer * e_.taken, 16, [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) {
        int32_t index = indices[i % e_.taken];  // outside of the axis: NaN, which a run reports
        if (e_.holds(index)) {
          std::copy_n(x + (i / e_.taken * e_.length + index) * e_.inner, e_.inner,
                      y + i * e_.inner);
        } else {
          std::fill_n(y + i * e_.inner, e_.inner, T(std::numeric_limits<float>::quiet_NaN()));
        }
      }
    });
  }

 private:
  GatherExtents e_;
};

template <typename T>
class GatherBackwardCpuKernel : public Kernel {
 public:
  explicit GatherBackwardCpuKernel(const GatherExtents& extents) : e_(extents) {}

  // Sums of one outer index, for each thread.
  size_t workspace_bytes() const override {
    return static_cast<size_t>(e_.threads * sums()) * sizeof(float);
  }

  void run(const KernelArgs& args) override {
    Eigen::Map<const RowMajorArray<T>> dy(static_cast<const T*>(args.inputs[0]),
                                          e_.outer * e_.taken, e_.inner);
    auto indices = static_cast<const int32_t*>(args.inputs[1]);
    auto dx = static_cast<T*>(args.outputs[0]);
    parallel_for(e_.threads, e_.outer, 1, [&](int64_t begin, int64_t end, int chunk) {
      float* scratch = static_cast<float*>(args.workspace) + chunk * sums();
      Eigen::Map<RowMajorArray<float>> sum(scratch, e_.length, e_.inner);
      for (int64_t o = begin; o < end; ++o) {
        sum.setZero();
        // An index may occur several times: its rows of dy are added in their order.
        for (int64_t k = 0; k < e_.taken; ++k) {
          if (!e_.holds(indices[k])) continue;
          sum.row(indices[k]) += dy.row(o * e_.taken + k).template cast<float>();
        }
        copy_range(scratch, dx + o * sums(), sums());
      }
    });
  }

 private:
  int64_t sums() const { return e_.length * e_.inner; }

  GatherExtents e_;
};

template <template <typename> class K>
std::unique_ptr<Kernel> make(const GatherExtents& extents, DType dtype) {
  return make_typed<K>(dtype, extents);
}

}  // namespace

template <>
std::unique_ptr<Kernel> make_cpu(const GatherOp& op, const KernelRequest& request) {
  int axis = op.axis();
  GatherExtents extents(request.inputs[0].shape, request.inputs[1].shape[0], axis, request.threads);
  return make<GatherCpuKernel>(extents, request.inputs[0].dtype);
}

template <>
std::unique_ptr<Kernel> make_cpu(const GatherBackwardOp& op, const KernelRequest& request) {
  int axis = op.axis();
  GatherExtents extents(request.outputs[0].shape, request.inputs[1].shape[0], axis,
                        request.threads);
  return make<GatherBackwardCpuKernel>(extents, request.inputs[0].dtype);
}

}  // namespace spire::inline kernels
