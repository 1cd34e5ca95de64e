// Entry point that libFuzzer calls with its inputs; libFuzzer has the main().
#include "tests/fuzz/fuzz_target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  spire::fuzz::consume(data, size);
  return 0;  // the input may join the corpus, accepted or refused
}
