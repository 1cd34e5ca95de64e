#include "tools/bench/prediction/links.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/base/message_of.h"

namespace spire {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(Links, PairsAreSecondsAndSecondsAByte) {
  Link link = parse_link("2e-6,1e-10");
  EXPECT_EQ(link.alpha, 2e-6);
  EXPECT_EQ(link.beta, 1e-10);
  EXPECT_EQ(parse_link("0,0").beta, 0);
}

TEST(Links, NetworksScaleWithTheirRate) {
  Link slow = parse_link("eth:10Gb"), quick = parse_link("eth:100Gb");
  EXPECT_DOUBLE_EQ(slow.beta, 10 * quick.beta);
  EXPECT_EQ(slow.alpha, quick.alpha);
  EXPECT_DOUBLE_EQ(parse_link("ib:400Gb").beta, 1 / 47e9);  // what nccl-tests reaches on NDR
  EXPECT_EQ(parse_link("ib:400Gb").name, "ib:400Gb");
}

TEST(Links, KnownOnesAreInTheOrderOfTheirSpeed) {
  double nvlink = parse_link("nvlink").beta, pcie = parse_link("pcie").beta;
  EXPECT_DOUBLE_EQ(nvlink, 1 / 365e9);
  EXPECT_LT(nvlink, pcie);
  EXPECT_LT(parse_link("nvlink").alpha, parse_link("pcie").alpha);
}

TEST(Links, OthersAreRefusedWithWhatIsAllowed) {
  for (const char* text : {"", "nvlnk", "ib", "ib:", "ib:400", "ib:fastGb", "eth:0Gb", "eth:-1Gb",
                           "1e-6", "1e-6,", ",1e-9", "-1,0", "0,-1", "1,2,3"}) {
    EXPECT_THAT(message_of(Category::config, [&] { parse_link(text); }),
                AllOf(HasSubstr("--link"), HasSubstr("write nvlink, pcie, ib:400Gb, eth:100Gb")))
        << text;
  }
}

TEST(LocalLink, IsMeasuredInTimes) {
  Link link = measure_local_link(1 << 16, {.round_seconds = 0, .seconds = 0, .rounds = 1});
  EXPECT_GT(link.alpha, 0);
  EXPECT_GE(link.beta, 0);
}

}  // namespace
}  // namespace spire
