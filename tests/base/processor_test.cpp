#include "engine/base/processor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/base/message_of.h"

namespace spire {
namespace {

TEST(Processor, HasWhatThisBuildUses) {
  EXPECT_NO_THROW(require_processor());
  EXPECT_TRUE(build_instructions.avx2 && build_instructions.fma);
}

TEST(Processor, ABuildForAnotherOneSaysSo) {
  const ProcessorInstructions avx2 = {.avx2 = true, .fma = true};
  ProcessorInstructions wide = avx2;
  wide.avx512f = wide.avx512bf16 = true;
  EXPECT_NO_THROW(require_processor(avx2, wide));
  EXPECT_EQ(message_of(Category::device, [&] { require_processor(wide, avx2); }),
            "this build of Spire uses AVX-512, which this processor does not have; build it here, "
            "or with -DSPIRE_ARCH=x86-64-v3 for all of AVX2");
  ProcessorInstructions server = wide;
  server.avx512bf16 = false;
  EXPECT_THAT(message_of(Category::device, [&] { require_processor(wide, server); }),
              testing::HasSubstr("uses AVX-512 BF16, which"));
  EXPECT_EQ(message_of(Category::device, [&] { require_processor(avx2, {}); }),
            "this build of Spire uses AVX2, which this processor does not have; Spire needs AVX2 "
            "and FMA (x86-64-v3)");
}

}  // namespace
}  // namespace spire
