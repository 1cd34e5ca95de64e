// What the outcomes of copies mean. tests/emulation/doctor_test.sh has copies that hang and lie.
#include "tests/run/machine/findings.h"
#include "tools/doctor/checks.h"

namespace spire {
namespace {

using testing::Contains;
using testing::ElementsAre;
using Outcome = PeerCopy::Outcome;

CudaDeviceInfo gpu(int index) {
  CudaDeviceInfo info;
  info.index = index;
  return info;
}

PeerCopy copy(int from, int to, Outcome outcome, bool direct = true) {
  return {.from = from, .to = to, .direct = direct, .outcome = outcome, .bytes_per_s = 45e9};
}

TEST(PeerCheck, IsAMatrixWithARowASource) {
  Findings findings = check_peers({copy(0, 1, Outcome::copied), copy(0, 2, Outcome::copied, false),
                                   copy(1, 0, Outcome::copied)},
                                  5);
  EXPECT_THAT(
      findings,
      ElementsAre(good("peer_copies",
                       "cuda:0 to cuda:1 45.0 GB/s direct, cuda:2 45.0 GB/s through the host"),
                  good("peer_copies", "cuda:1 to cuda:0 45.0 GB/s direct")));
  EXPECT_THAT(findings[0].values, ElementsAre(testing::Pair("cuda:1_bytes_per_s", 45e9),
                                              testing::Pair("cuda:2_bytes_per_s", 45e9)));
}

TEST(PeerCheck, NamesEachBadCopyWithARemedy) {
  PeerCopy failed = copy(2, 1, Outcome::failed);
  failed.problem = "invalid device";
  Findings findings = check_peers(
      {copy(0, 1, Outcome::hung), copy(1, 0, Outcome::wrong), failed, copy(2, 0, Outcome::untried)},
      2.5);
  EXPECT_THAT(findings, ElementsAre(fails("peer_copies",
                                          "cuda:0 to cuda:1: the copy did not end within 2.5 s; "
                                          "set NCCL_P2P_DISABLE=1"),
                                    fails("peer_copies", "cuda:1 to cuda:0: other data arrived"),
                                    fails("peer_copies", "cuda:2 to cuda:1: invalid device"),
                                    warns("peer_copies", "cuda:2 to cuda:0 was not tried")));
}

TEST(PeerCheck, NeedsTwoGpus) {
  EXPECT_THAT(copies_between({gpu(0)}), ElementsAre());
  EXPECT_THAT(check_peers({}, 5), ElementsAre(good("peer_copies", "fewer than two GPUs")));
}

TEST(PeerCheck, TriesEachGpuToEachOther) {
  std::vector<std::pair<int, int>> pairs;
  for (const PeerCopy& tried : copies_between({gpu(0), gpu(2), gpu(5)}))
    pairs.emplace_back(tried.from, tried.to);
  EXPECT_EQ(pairs,
            (std::vector<std::pair<int, int>>{{0, 2}, {0, 5}, {2, 0}, {2, 5}, {5, 0}, {5, 2}}));
}

TEST(PeerLine, IsReadAsItWasWritten) {
  for (PeerCopy written : {copy(0, 3, Outcome::copied), copy(3, 0, Outcome::failed, false)}) {
    if (written.outcome == Outcome::failed) written.problem = "cuda:0: out of  memory";
    auto read = read_copy(to_line(written));
    ASSERT_TRUE(read);
    EXPECT_EQ(to_line(*read), to_line(written));
    EXPECT_EQ(read->problem, written.problem);
    EXPECT_EQ(read->direct, written.direct);
  }
  for (const char* broken : {"", "ready", "0 1 1", "0 1 1 9 4.5 "}) EXPECT_FALSE(read_copy(broken));
}

}  // namespace
}  // namespace spire
