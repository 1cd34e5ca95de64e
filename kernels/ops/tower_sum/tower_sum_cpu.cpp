// Sum over a single tower on the CPU: a copy.
#include <cstring>

#include "kernels/kernel.h"
#include "kernels/ops/tower_sum/tower_sum.h"

namespace spire {

// A single tower's sum is its own terms.
template <>
Kernel make_cpu(const TowerSumOp&, const KernelRequest& request) {
  return [bytes = request.inputs[0].bytes()](const KernelArgs& args) {
    std::memcpy(args.outputs[0], args.inputs[0], bytes);
  };
}

}  // namespace spire
