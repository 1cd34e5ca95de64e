// Embedding on the CPU. Forward: threads share the places, each copies a row of the table.
// Backward: threads share the columns, so two places with one id never meet and each sum has one
// order.
#include <algorithm>
#include <limits>

#include <Eigen/Core>

#include "kernels/cpu/elementwise.h"
#include "kernels/ops/embedding/embedding.h"
#include "kernels/typed_kernel.h"

namespace spire::inline kernels {

namespace {

template <typename T>
class EmbeddingCpuKernel : public Kernel {
 public:
  explicit EmbeddingCpuKernel(const KernelRequest& request)
      : places_(request.inputs[0].shape.elements()),
        vocabulary_(request.inputs[1].shape[0]),
        width_(request.inputs[1].shape[1]),
        threads_(request.threads) {}

  void run(const KernelArgs& args) override {
    auto ids = static_cast<const int32_t*>(args.inputs[0]);
    auto table = static_cast<const float*>(args.inputs[1]);
    auto y = static_cast<T*>(args.outputs[0]);
    parallel_for(threads_, places_, 16, [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) {
        if (ids[i] >= 0 && ids[i] < vocabulary_) {
          copy_range(table + ids[i] * width_, y + i * width_, width_);
        } else {
          std::fill_n(y + i * width_, width_, T(std::numeric_limits<float>::quiet_NaN()));
        }
      }
    });
  }

 private:
  int64_t places_, vocabulary_, width_;
  int threads_;
};

// dtable[ids[i]] += dy[i], in the order of i. Each thread does so for its columns of all rows.
template <typename T>
class EmbeddingBackwardCpuKernel : public Kernel {
 public:
  explicit EmbeddingBackwardCpuKernel(const KernelRequest& request)
      : places_(request.inputs[1].shape.elements()),
        vocabulary_(request.outputs[0].shape[0]),
        width_(request.outputs[0].shape[1]),
        threads_(request.threads) {}

  void run(const KernelArgs& args) override {
    auto dtable = static_cast<float*>(args.outputs[0]);
    begin_with(args.inputs.size() == 3 ? static_cast<const float*>(args.inputs[2]) : nullptr,
               dtable);
    auto dy = static_cast<const T*>(args.inputs[0]);
    auto ids = static_cast<const int32_t*>(args.inputs[1]);
    parallel_for(threads_, width_, lane_count, [&](int64_t begin, int64_t end, int) {
      for (int64_t i = 0; i < places_; ++i) {
        if (ids[i] < 0 || ids[i] >= vocabulary_) continue;
        Eigen::Map<const Eigen::ArrayX<T>> row(dy + i * width_ + begin, end - begin);
        Eigen::Map<Eigen::ArrayXf> sum(dtable + ids[i] * width_ + begin, end - begin);
        sum += row.template cast<float>();
      }
    });
  }

 private:
  // dtable = addend, which may be dtable already; zeros when there is none.
  void begin_with(const float* addend, float* dtable) const {
    if (addend == dtable) return;
    parallel_for(threads_, vocabulary_ * width_, 4096, [&](int64_t begin, int64_t end, int) {
      if (addend) {
        std::copy(addend + begin, addend + end, dtable + begin);
      } else {
        std::fill(dtable + begin, dtable + end, 0.0f);
      }
    });
  }

  int64_t places_, vocabulary_, width_;
  int threads_;
};

}  // namespace

template <>
std::unique_ptr<Kernel> make_cpu(const EmbeddingOp&, const KernelRequest& request) {
  return make_typed<EmbeddingCpuKernel>(request.outputs[0].dtype, request);
}

template <>
std::unique_ptr<Kernel> make_cpu(const EmbeddingBackwardOp&, const KernelRequest& request) {
  return make_typed<EmbeddingBackwardCpuKernel>(request.inputs[0].dtype, request);
}

}  // namespace spire::inline kernels
