// Whether this processor has the instructions that the build uses (SPIRE_ARCH).
#pragma once

namespace spire {

struct ProcessorInstructions {  // those in which processors of the last years differ
  bool avx2 = false, fma = false, avx512f = false, avx512bw = false, avx512vbmi = false,
       avx512vnni = false, avx512bf16 = false, avx512fp16 = false;
};
extern const ProcessorInstructions build_instructions;  // of this build
ProcessorInstructions processor_instructions();         // of this machine

// Throws Error(device) that names an instruction set which `build` uses and `here` lacks.
void require_processor(const ProcessorInstructions& build = build_instructions,
                       const ProcessorInstructions& here = processor_instructions());

}  // namespace spire
