// Flags of exponents on the CPU: threads share a tensor's elements, and each sets its largest
// one's.
#include <algorithm>

#include "kernels/cpu/largest_exponent.h"
#include "kernels/cpu/parallel.h"
#include "kernels/kernel.h"
#include "kernels/ops/exact_range/exact_range.h"

namespace spire {

namespace {

constexpr int64_t range_grain = 4096;

}  // namespace

template <>
Kernel make_cpu(const ExactRangeOp&, const KernelRequest& request) {
  std::vector<int64_t> counts;
  for (const TensorSpec& input : request.inputs) counts.push_back(input.shape.elements());
  auto run = [counts, threads = request.threads](const KernelArgs& args) {
    auto flags = args.out<double>(0);
    auto largest = args.scratch<int>();
    std::fill_n(flags, counts.size() * exponent_count, 0.0);
    for (size_t i = 0; i < counts.size(); ++i, flags += exponent_count) {
      auto x = args.in<float>(i);
      std::fill_n(largest, threads, 0);
      parallel_for(threads, counts[i], range_grain, [&](int64_t begin, int64_t end, int chunk) {
        largest[chunk] = largest_exponent(x + begin, end - begin);
      });
      flags[*std::max_element(largest, largest + threads)] = 1;
    }
  };
  return Kernel(run, sizeof(int) * static_cast<size_t>(request.threads));
}

}  // namespace spire
