// When teams share cores beside others, how many and which, by a clock that the tests set.
#include <gmock/gmock.h>

#include "engine/device/load/crowded_cores.h"

namespace spire {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::Optional;
using Loads = std::vector<double>;

TEST(CoresLeft, AreTheCoresThatOthersDoNotUse) {
  struct Case {
    double others;
    int threads, cores, left;
  };
  for (const Case& c :
       {Case{0, 2, 2, 0}, Case{0.45, 2, 2, 0}, Case{0.55, 2, 2, 1}, Case{1, 2, 2, 1},
        Case{2, 2, 2, 1}, Case{0, 3, 2, 0},  // more threads than cores are no load
        Case{3, 4, 8, 0}, Case{5, 4, 8, 3}, Case{4, 8, 8, 4}, Case{8, 8, 8, 1}, Case{3, 64, 64, 0},
        Case{7, 64, 64, 57}})
    EXPECT_EQ(cores_left(c.others, c.threads, c.cores), c.left)
        << c.others << " of " << c.cores << " beside " << c.threads;
}

// Decisions for as many threads as cores, and five readings a second.
class CrowdDecisionsTest : public testing::Test {
 protected:
  // Adds `count` equal readings, does what is decided, and returns the last decision.
  std::optional<int> add(const Loads& others, int count = 1) {
    std::optional<int> last;
    for (int reading = 0; reading < count; ++reading) {
      now_ += milliseconds(200);
      std::optional<int> decided = decisions_.add(others, shared_, now_);
      if (decided) {
        changes_ += *decided != shared_;
        shared_ = *decided;
        last = decided;
      }
    }
    return last;
  }

  CrowdDecisions decisions_{2, {4, 5}, milliseconds(2000)};
  CrowdDecisions::Time now_;
  int shared_ = 0, changes_ = 0;
};

TEST_F(CrowdDecisionsTest, ALoadThatStaysIsSeenWithinThreeReadings) {
  EXPECT_EQ(add({0, 0}, 50), std::nullopt);
  EXPECT_EQ(add({1, 0}), std::nullopt);
  EXPECT_THAT(add({1, 0}), Optional(1));
  EXPECT_THAT(decisions_.emptiest({}), ElementsAre(5, 4));
}

TEST_F(CrowdDecisionsTest, OneReadingIsNoLoad) {
  for (int burst = 0; burst < 5; ++burst) {
    EXPECT_EQ(add({0, 1}), std::nullopt);
    EXPECT_EQ(add({0, 0}, 4), std::nullopt);
  }
}

TEST_F(CrowdDecisionsTest, CoresAreGivenBackAfterThreeQuietDecisions) {
  EXPECT_THAT(add({1, 0}, 3), Optional(1));
  EXPECT_THAT(add({0, 0}, 10), Optional(1));
  EXPECT_THAT(add({0, 0}, 10), Optional(1));
  EXPECT_EQ(add({0, 0}, 9), std::nullopt) << "a decision in two seconds";
  EXPECT_THAT(add({0, 0}), Optional(0));
}

TEST_F(CrowdDecisionsTest, BurstsOfANeighborChangeNothingMore) {
  EXPECT_THAT(add({1, 0}, 3), Optional(1));
  for (int burst = 0; burst < 20; ++burst) {  // a second each, three of silence between
    add({0, 0}, 15);
    add({1, 0}, 5);
  }
  EXPECT_EQ(changes_, 1);
  EXPECT_EQ(shared_, 1);
}

TEST(CrowdDecisions, OfManyCoresFewerAreTakenAtTheNextDecision) {
  CrowdDecisions decisions(32, std::vector<int>(32), milliseconds(2000));
  CrowdDecisions::Time now;
  int shared = 0;
  auto after_five_seconds_of = [&](double others) {
    for (int reading = 0; reading < 25; ++reading)
      shared =
          decisions.add(Loads(32, others / 32), shared, now += milliseconds(200)).value_or(shared);
    return shared;
  };
  EXPECT_EQ(after_five_seconds_of(6), 26);
  EXPECT_EQ(after_five_seconds_of(7), 26) << "one more or less";
  EXPECT_EQ(after_five_seconds_of(16), 16);
  EXPECT_EQ(after_five_seconds_of(8), 16);
  EXPECT_EQ(after_five_seconds_of(8), 24);
}

// In containers with networks of their own runs do not see each other's locks. Each has half of a
// core on which both are, and sees that the other has as much.
TEST(CrowdDecisions, TwoRunsThatSeeNothingButTheirLoadsPart) {
  struct Run {
    explicit Run(int pause_ms) : decisions(2, {0, 1}, milliseconds(pause_ms)) {}
    Loads used(bool both) const {  // of each core
      if (core < 0) return {0.5, 0.5};
      double share = both ? 0.5 : 1.0;
      return core == 0 ? Loads{share, 0} : Loads{0, share};
    }
    void see(const Loads& others, CrowdDecisions::Time now) {
      if (auto count = decisions.add(others, core < 0 ? 0 : 1, now))
        core = *count == 0 ? -1 : decisions.emptiest(held()).front();
    }
    std::vector<int> held() const { return core < 0 ? std::vector<int>() : std::vector{core}; }
    CrowdDecisions decisions;
    int core = -1;
  };
  Run one(2000), other(2500);
  CrowdDecisions::Time now;
  int moves = 0;
  for (int reading = 0; reading < 300; ++reading) {
    now += milliseconds(200);
    bool both = one.core == other.core;
    Loads of_one = one.used(both), of_other = other.used(both);
    int before[2] = {one.core, other.core};
    one.see(of_other, now);
    other.see(of_one, now);
    moves += (one.core != before[0]) + (other.core != before[1]);
  }
  EXPECT_EQ(one.core + other.core, 1) << one.core << " and " << other.core;
  EXPECT_LE(moves, 8);
}

TEST_F(CrowdDecisionsTest, CoresAreLeftWhereOthersUseThemClearlyMore) {
  add({0.6, 0.4}, 3);
  EXPECT_THAT(decisions_.emptiest({}), ElementsAre(5, 4));
  EXPECT_THAT(decisions_.emptiest({4}), ElementsAre(4, 5));
  EXPECT_THAT(add({0.75, 0.25}, 10), Optional(1));
  EXPECT_THAT(decisions_.emptiest({4}), ElementsAre(5, 4));
}

}  // namespace
}  // namespace spire
