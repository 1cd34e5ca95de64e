#include "kernels/cuda/divide.h"

#include <vector>

#include <gtest/gtest.h>

namespace spire {
namespace {

TEST(Divider, DividesAsADivisionDoes) {
  // Small numbers, those about powers of two, where the multiplier changes, and large primes.
  std::vector<int64_t> numbers;
  for (int64_t n = 0; n < 70; ++n) numbers.push_back(n);
  for (int power : {8, 15, 16, 24, 30, 31, 32, 33, 40})
    for (int64_t n : {-3, -2, -1, 0, 1, 2, 3, 5}) numbers.push_back((int64_t{1} << power) + n);
  for (int64_t n : {1000003, 123456789, 2147483629, 715827883}) numbers.push_back(n);
  for (int64_t divisor : numbers) {
    if (divisor == 0) continue;
    Divider divider(divisor);
    EXPECT_EQ(divider.divisor(), divisor);
    for (int64_t n : numbers) {
      // Multiples of the divisor and the numbers just below them are the first to go wrong.
      // Unsigned, as large ones overflow: they become any other numbers.
      auto multiple = static_cast<uint64_t>(n) * static_cast<uint64_t>(divisor);
      auto below = multiple + static_cast<uint64_t>(divisor) - 1;
      for (int64_t at : {n, static_cast<int64_t>(multiple), static_cast<int64_t>(below)}) {
        if (at < 0 || at >= int64_t{1} << 62) continue;
        auto [quotient, remainder] = divider.divide(at);
        ASSERT_EQ(quotient, at / divisor) << at << " / " << divisor;
        ASSERT_EQ(remainder, at % divisor) << at << " % " << divisor;
      }
    }
  }
}

}  // namespace
}  // namespace spire
