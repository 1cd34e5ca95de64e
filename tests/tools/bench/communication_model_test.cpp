// Tests links and the formulas over them by their closed forms.
#include "tools/bench/prediction/communication_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/base/message_of.h"

namespace spire {
namespace {

using Strategy = RunConfig::Strategy;
using testing::AllOf;
using testing::HasSubstr;

// Powers of two, so that sums are exact.
constexpr double alpha = 0x1p-10, beta = 0x1p-20, gamma = 0x1p-22, bytes = 0x1p16;
const Link link = {"test", alpha, beta};

CommunicationModel model_of(Strategy strategy, Reduction reduction = Reduction::invariant) {
  return {.link = link, .gamma = gamma, .strategy = strategy, .reduction = reduction};
}

TEST(CommunicationModel, FourMembersByHand) {
  double spread = 3 * alpha + 0.75 * bytes * beta, sum = 0.75 * bytes * gamma;
  EXPECT_EQ(spread_seconds(link, 4, bytes), spread);
  EXPECT_EQ(ring_seconds(link, gamma, 4, bytes), 2 * spread + sum);
  EXPECT_EQ(tree_seconds(link, gamma, 4, bytes), 4 * alpha + 2 * bytes * beta + bytes * gamma);
  EXPECT_EQ(bucket_seconds(model_of(Strategy::parameter_device), 4, bytes), 2 * spread + sum);
  EXPECT_EQ(bucket_seconds(model_of(Strategy::mirrored), 4, bytes), 2 * spread + sum);
  EXPECT_EQ(bucket_seconds(model_of(Strategy::sharded), 4, bytes), spread + sum);
  EXPECT_EQ(publish_seconds(model_of(Strategy::parameter_device), 4, bytes),
            3 * alpha + bytes * beta + spread_seconds(link, 3, bytes));
  EXPECT_EQ(publish_seconds(model_of(Strategy::mirrored), 4, bytes), 0);
  EXPECT_EQ(publish_seconds(model_of(Strategy::sharded), 4, bytes), spread);
}

// docs/architecture.md, "Strategies": bytes sent by a member are 8 P (R-1)/R. The parts of
// publishing by a parameter device wait for each other: it sends all weights, then the others send
// each other R-2 parts of R-1.
TEST(CommunicationModel, BytesAreThoseOfTheStrategies) {
  for (int64_t members : {2, 3, 8}) {
    auto bytes_of = [&](Strategy strategy) {
      CommunicationModel model = model_of(strategy);
      model.link.alpha = model.gamma = 0;
      return (bucket_seconds(model, members, bytes) + publish_seconds(model, members, bytes)) /
             beta;
    };
    double part = bytes * static_cast<double>(members - 1) / static_cast<double>(members);
    double others = static_cast<double>(members - 1);
    EXPECT_DOUBLE_EQ(bytes_of(Strategy::parameter_device),
                     2 * part + bytes + bytes * (others - 1) / others);
    EXPECT_DOUBLE_EQ(bytes_of(Strategy::mirrored), 2 * part);
    EXPECT_DOUBLE_EQ(bytes_of(Strategy::sharded), 2 * part);
  }
}

TEST(CommunicationModel, OneMemberSendsNothing) {
  for (Strategy strategy : {Strategy::parameter_device, Strategy::mirrored, Strategy::sharded}) {
    for (Reduction reduction : {Reduction::invariant, Reduction::native})
      EXPECT_EQ(bucket_seconds(model_of(strategy, reduction), 1, bytes), 0);
    EXPECT_EQ(publish_seconds(model_of(strategy), 1, bytes), 0);
  }
}

// Trees start fewer messages, rings send fewer bytes.
TEST(CommunicationModel, NativeIsTheQuickerOfRingAndTree) {
  CommunicationModel native = model_of(Strategy::mirrored, Reduction::native);
  EXPECT_EQ(bucket_seconds(native, 1024, 1), tree_seconds(link, gamma, 1024, 1));
  EXPECT_LT(tree_seconds(link, gamma, 1024, 1), ring_seconds(link, gamma, 1024, 1));
  EXPECT_EQ(bucket_seconds(native, 3, 0x1p30), ring_seconds(link, gamma, 3, 0x1p30));
  EXPECT_LT(ring_seconds(link, gamma, 3, 0x1p30), tree_seconds(link, gamma, 3, 0x1p30));
  // Heights of trees are rounded up.
  EXPECT_EQ(tree_seconds(link, 0, 5, 0), tree_seconds(link, 0, 8, 0));
  EXPECT_LT(tree_seconds(link, 0, 4, 0), tree_seconds(link, 0, 5, 0));
}

TEST(CommunicationModel, DevicesOfAMemberReadInPlaceOfSending) {
  CommunicationModel model = model_of(Strategy::parameter_device);
  EXPECT_EQ(share_seconds(model, bytes), 0);
  EXPECT_EQ(copy_seconds(model, bytes), 0);
  model.devices_per_member = 4;
  EXPECT_EQ(share_seconds(model, bytes), 0.75 * bytes * gamma);
  EXPECT_DOUBLE_EQ(copy_seconds(model, bytes), 3 * bytes * gamma * 2 / 3);
  model.strategy = Strategy::mirrored;
  EXPECT_EQ(copy_seconds(model, bytes), 0);
}

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
