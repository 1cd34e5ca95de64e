// No cuDNN: attention is the own kernels'.
#include <spire/kernels/cuda_attention.h>

namespace spire {

std::unique_ptr<Kernel> choose_attention(const AttentionShape&, const OwnAttention& own,
                                         const KernelRequest&) {
  return own.make();
}

}  // namespace spire
