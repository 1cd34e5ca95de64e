// Tests of float_atomics on code that nvcc has compiled from float_atomics.cu.
#include <fstream>
#include <iterator>
#include <string>

#include <gmock/gmock.h>
#include <tests/described_gpu/float_atomics.h>

namespace spire::testing {
namespace {

// SPIRE_CUBINS/sm_90_1.cubin
std::string found_in(int compute, int kernel) {
  std::string path = std::string(SPIRE_CUBINS) + "/sm_" + std::to_string(compute) + "_" +
                     std::to_string(kernel) + ".cubin";
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.is_open()) << path;
  std::string cubin{std::istreambuf_iterator<char>(file), {}};
  return cubin.empty() ? "no cubin" : float_atomics(cubin.data());
}

TEST(FloatAtomics, AreFoundInEachForm) {
  for (int compute : {80, 89, 90})
    for (int kernel : {1, 2, 3, 4})
      EXPECT_THAT(found_in(compute, kernel), ::testing::StartsWith("_Z6kernel"))
          << "sm_" << compute << " kernel " << kernel;
}

TEST(FloatAtomics, AtomicsOfIntegersAreNone) {
  for (int compute : {80, 89, 90}) EXPECT_EQ(found_in(compute, 5), "") << "sm_" << compute;
}

}  // namespace
}  // namespace spire::testing
