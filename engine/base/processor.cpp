#include "engine/base/processor.h"

#include "engine/base/fail.h"

namespace spire {

ProcessorInstructions processor_instructions() {
  __builtin_cpu_init();
  return {.avx2 = __builtin_cpu_supports("avx2") != 0,
          .fma = __builtin_cpu_supports("fma") != 0,
          .avx512f = __builtin_cpu_supports("avx512f") != 0,
          .avx512bw = __builtin_cpu_supports("avx512bw") != 0,
          .avx512vbmi = __builtin_cpu_supports("avx512vbmi") != 0,
          .avx512vnni = __builtin_cpu_supports("avx512vnni") != 0,
          .avx512bf16 = __builtin_cpu_supports("avx512bf16") != 0,
          .avx512fp16 = __builtin_cpu_supports("avx512fp16") != 0};
}

void require_processor(const ProcessorInstructions& build, const ProcessorInstructions& here) {
  auto require = [&](const char* name, bool used, bool there) {
    if (used && !there)
      fail(Category::device, "this build of Spire uses {}, which this processor does not have; {}",
           name,
           build.avx512f ? "build it here, or with -DSPIRE_ARCH=x86-64-v3 for all of AVX2"
                         : "Spire needs AVX2 and FMA (x86-64-v3)");
  };
  require("AVX2", build.avx2, here.avx2);
  require("FMA", build.fma, here.fma);
  require("AVX-512", build.avx512f, here.avx512f);
  require("AVX-512 BW", build.avx512bw, here.avx512bw);
  require("AVX-512 VBMI", build.avx512vbmi, here.avx512vbmi);
  require("AVX-512 VNNI", build.avx512vnni, here.avx512vnni);
  require("AVX-512 BF16", build.avx512bf16, here.avx512bf16);
  require("AVX-512 FP16", build.avx512fp16, here.avx512fp16);
}

}  // namespace spire
