// Exact matches on the CPU: threads share the samples.
#include "kernels/cpu/parallel.h"
#include "kernels/kernel.h"
#include "kernels/ops/exact_match/exact_match.h"

namespace spire {

template <>
Kernel make_cpu(const ExactMatchOp&, const KernelRequest& request) {
  return with_float_type(request.inputs[0].dtype, [&](auto type) -> Kernel {
    using T = decltype(type);
    return [samples = request.inputs[0].shape[0], labels = request.inputs[0].shape[1],
            threads = request.threads](const KernelArgs& args) {
      parallel_for(threads, samples, 64, [&](int64_t begin, int64_t end, int) {
        for (int64_t n = begin; n < end; ++n)
          args.out<float>(0)[n] =
              exact_match(args.in<T>(0) + n * labels, args.in<float>(1) + n * labels, labels);
      });
    };
  });
}

}  // namespace spire
