// Compiled with -march=SPIRE_ARCH, as the code that computes is. It has data alone, so that any
// processor can read it.
#include "engine/base/processor.h"

namespace spire {

const ProcessorInstructions build_instructions = {
#ifdef __AVX2__
    .avx2 = true,
#endif
#ifdef __FMA__
    .fma = true,
#endif
#ifdef __AVX512F__
    .avx512f = true,
#endif
#ifdef __AVX512BW__
    .avx512bw = true,
#endif
#ifdef __AVX512VBMI__
    .avx512vbmi = true,
#endif
#ifdef __AVX512VNNI__
    .avx512vnni = true,
#endif
#ifdef __AVX512BF16__
    .avx512bf16 = true,
#endif
#ifdef __AVX512FP16__
    .avx512fp16 = true,
#endif
};

}  // namespace spire
