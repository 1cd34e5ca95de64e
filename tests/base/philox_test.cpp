#include <set>

#include <gtest/gtest.h>

#include <spire/random_stream.h>

namespace spire {
namespace {

// Known answers of Random123's kat_vectors, "philox4x32 10".
TEST(Philox, KnownAnswers) {
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}),
            (PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}),
            (PhiloxBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (PhiloxBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, StreamsOfDifferentNamesDiffer) {
  std::set<uint32_t> first;
  for (uint64_t seed : {1, 2})
    for (auto purpose : {Purpose::crop, Purpose::flip})
      for (uint64_t a : {0, 1})
        for (uint64_t b : {0, 1}) first.insert(RandomStream(seed, purpose, a, b).bits(0));
  EXPECT_EQ(first.size(), 16u);
}

TEST(Philox, UniformHasTheMomentsOfAUniform) {
  RandomStream stream(7, Purpose::dropout);
  double sum = 0, squares = 0;
  constexpr int n = 100000;
  for (int i = 0; i < n; ++i) {
    double u = stream.uniform(static_cast<uint64_t>(i));
    ASSERT_GE(u, 0.0);
    ASSERT_LT(u, 1.0);
    sum += u;
    squares += u * u;
  }
  // Five standard errors of the mean and of the second moment.
  EXPECT_NEAR(sum / n, 0.5, 5 * 0.2887 / 316.2);
  EXPECT_NEAR(squares / n, 1.0 / 3, 5 * 0.2981 / 316.2);
}

}  // namespace
}  // namespace spire
