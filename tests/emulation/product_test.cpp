// Tests the choice of a product's algorithm, by times that the emulation draws.
#include "kernels/cuda/product.h"

#include <set>

#include <gtest/gtest.h>

#include "kernels/cuda/libraries.h"
#include "kernels/cuda/tuning.h"

namespace spire {
namespace {

const ProductShape summing{.m = 16, .n = 3, .k = 5, .transpose_a = true, .row_sums = true};
const SumRows nothing{[](const ProductPointers&, void*) {}, 0};

std::string choice(const ProductShape& shape, Tuning* tuning) {
  CudaLibraries libraries({DeviceKind::cuda, 0}, {.tuning = tuning});
  CudaProduct product = choose_product(shape, &libraries, nothing);
  EXPECT_EQ(choose_product(shape, &libraries, nothing).algorithm(), product.algorithm());
  return (product.sums_rows() ? "summing " : "plain ") + product.algorithm();
}

TEST(EmulationProduct, TheFastestIsKeptForLaterRuns) {
  std::set<std::string> fastest;
  for (int run = 0; run < 200 && fastest.size() < 4; ++run) {
    Tuning first({.measures = true});
    fastest.insert(choice(summing, &first));
    ASSERT_EQ(first.measured().size(), 1u);
    Tuning again({.recorded = first.chosen(), .measures = true});
    ASSERT_EQ(choice(summing, &again), *again.find(first.chosen().begin()->first));
    ASSERT_EQ(again.chosen(), first.chosen());
  }
  EXPECT_EQ(fastest.size(), 4u) << "two algorithms, each with row sums and without";
}

TEST(EmulationProduct, UnmeasuredItIsTheFirstWithoutRowSums) {
  Tuning tuning({});
  for (Tuning* given : {&tuning, static_cast<Tuning*>(nullptr)})
    EXPECT_EQ(choice(summing, given), "plain product forwards");
}

TEST(EmulationProduct, EachShapeHasAChoice) {
  Tuning tuning({.measures = true});
  ProductShape plain = summing, other = summing, wide = summing;
  plain.row_sums = false;
  other.m = 17;  // of which no algorithm makes row sums
  wide.pitch_a = 32;
  for (const ProductShape& shape : {summing, plain, other, wide}) choice(shape, &tuning);
  EXPECT_EQ(tuning.chosen().size(), 4u);
}

}  // namespace
}  // namespace spire
