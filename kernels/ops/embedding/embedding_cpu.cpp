// Embedding on the CPU. Forward: threads share the places, each copies a row of the table.
// Backward: threads share the columns, so two places with one id never meet and each sum has one
// order.
#include <algorithm>
#include <limits>

#include <Eigen/Core>

#include "kernels/cpu/elementwise.h"
#include "kernels/kernel.h"
#include "kernels/ops/embedding/embedding.h"

namespace spire {

namespace {

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
Kernel make_cpu(const EmbeddingOp&, const KernelRequest& request) {
  return with_float_type(request.outputs[0].dtype, [&](auto type) -> Kernel {
    using T = decltype(type);
    return [places = request.inputs[0].shape.elements(), vocabulary = request.inputs[1].shape[0],
            width = request.inputs[1].shape[1], threads = request.threads](const KernelArgs& args) {
      auto ids = args.in<int32_t>(0);
      auto table = args.in<float>(1);
      auto y = args.out<T>(0);
      parallel_for(threads, places, 16, [&](int64_t begin, int64_t end, int) {
        for (int64_t i = begin; i < end; ++i) {
          if (ids[i] >= 0 && ids[i] < vocabulary) {
            copy_range(table + ids[i] * width, y + i * width, width);
          } else {
            std::fill_n(y + i * width, width, T(std::numeric_limits<float>::quiet_NaN()));
          }
        }
      });
    };
  });
}

// dtable[ids[i]] += dy[i], in the order of i. Each thread does so for its columns of all rows.
template <>
Kernel make_cpu(const EmbeddingBackwardOp&, const KernelRequest& request) {
  return with_float_type(request.inputs[0].dtype, [&](auto type) -> Kernel {
    using T = decltype(type);
    return
        [places = request.inputs[1].shape.elements(), vocabulary = request.outputs[0].shape[0],
         width = request.outputs[0].shape[1], threads = request.threads](const KernelArgs& args) {
          auto dtable = args.out<float>(0);
          begin_with(args.inputs.size() == 3 ? args.in<float>(2) : nullptr, vocabulary * width,
                     threads, dtable);
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
        };
  });
}

}  // namespace spire
