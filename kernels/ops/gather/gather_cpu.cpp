// Gather and embedding on the CPU, of x as (outer, length, inner). Forward: threads share the
// (outer, k) and copy inner elements. Backward of gather: a thread sums one outer index at a time
// in fp32, in the order of k; of embedding, threads share the columns, so two places with one id
// never meet and each sum has one order.
#include <algorithm>
#include <limits>
#include <type_traits>

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

// y[o, k, ..] = x[o, indices[k], ..]; NaN for an index outside of the axis, which a run reports.
template <typename From, typename To>
void gather_rows(const GatherExtents& e, int threads, const From* x, const int32_t* indices,
                 To* y) {
  parallel_for(threads, e.outer * e.taken, 16, [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; ++i) {
      int32_t index = indices[i % e.taken];
      To* to = y + i * e.inner;
      if (!e.holds(index)) {
        std::fill_n(to, e.inner, To(std::numeric_limits<float>::quiet_NaN()));
        continue;
      }
      const From* from = x + (i / e.taken * e.length + index) * e.inner;
      if constexpr (std::is_same_v<From, To>) {
        std::copy_n(from, e.inner, to);
      } else {
        copy_range(from, to, e.inner);
      }
    }
  });
}

// dtable = addend, which may be dtable already; zeros when there is none.
void begin_with(const float* addend, int64_t count, int threads, float* dtable) {
  if (addend == dtable) return;
  parallel_for(threads, count, 4096, [&](int64_t begin, int64_t end, int) {
    if (addend) {
      std::copy(addend + begin, addend + end, dtable + begin);
    } else {
      std::fill(dtable + begin, dtable + end, 0.0f);
    }
  });
}

}  // namespace

template <>
Kernel make_cpu(const GatherOp& op, const KernelRequest& request) {
  GatherExtents e(request.inputs[0].shape, request.inputs[1].shape[0], op.axis());
  return cpu_kernel(request, [e, threads = request.threads]<typename T>(T, const KernelArgs& args) {
    gather_rows(e, threads, args.in<T>(0), args.in<int32_t>(1), args.out<T>(0));
  });
}

// Workspace: the sums of one outer index, for each thread.
template <>
Kernel make_cpu(const GatherBackwardOp& op, const KernelRequest& request) {
  GatherExtents e(request.outputs[0].shape, request.inputs[1].shape[0], op.axis());
  int64_t sums = e.length * e.inner;
  size_t bytes = static_cast<size_t>(request.threads * sums) * sizeof(float);
  int threads = request.threads;
  return cpu_kernel(request, bytes, [=]<typename T>(T, const KernelArgs& args) {
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
  });
}

template <>
Kernel make_cpu(const EmbeddingOp&, const KernelRequest& request) {
  GatherExtents e(request.inputs[1].shape, request.inputs[0].shape.elements(), 0);
  int threads = request.threads;
  return cpu_kernel(request.outputs[0].dtype, [=]<typename T>(T, const KernelArgs& args) {
    gather_rows(e, threads, args.in<float>(1), args.in<int32_t>(0), args.out<T>(0));
  });
}

// dtable[ids[i]] += dy[i], in the order of i. Each thread does so for its columns of all rows.
template <>
Kernel make_cpu(const EmbeddingBackwardOp&, const KernelRequest& request) {
  int64_t places = request.inputs[1].shape.elements(), vocabulary = request.outputs[0].shape[0];
  int64_t width = request.outputs[0].shape[1];
  int threads = request.threads;
  return cpu_kernel(request, [=]<typename T>(T, const KernelArgs& args) {
    auto dtable = args.out<float>(0);
    begin_with(args.inputs.size() == 3 ? args.in<float>(2) : nullptr, vocabulary * width, threads,
               dtable);
    auto dy = args.in<T>(0);
    auto ids = args.in<int32_t>(1);
    parallel_for(threads, width, lane_count, [&](int64_t begin, int64_t end, int) {
      for (int64_t i = 0; i < places; ++i) {
        if (ids[i] < 0 || ids[i] >= vocabulary) continue;
        Eigen::Map<const Eigen::ArrayX<T>> row(dy + i * width + begin, end - begin);
        Eigen::Map<Eigen::ArrayXf> sum(dtable + ids[i] * width + begin, end - begin);
        sum += row.template cast<float>();
      }
    });
  });
}

}  // namespace spire
