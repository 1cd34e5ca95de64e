#include "engine/device/core_locks.h"

#include <sys/wait.h>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

namespace spire {
namespace {

using Cores = std::vector<int>;

// Of this process alone: other tests and runs have theirs.
std::string own_space() {
  return fmt::format("spire-test-{}", getpid());
}

TEST(CoreLocks, TheFirstHasACoreUntilItLetsGo) {
  CoreLocks first, second;
  EXPECT_EQ(first.take(Cores{2, 3}, own_space()), "");
  EXPECT_EQ(second.take(Cores{3}, own_space()), "another Spire process uses core 3");
  EXPECT_EQ(second.take(Cores{4}, own_space()), "");
  first.release();
  EXPECT_EQ(second.take(Cores{2, 3}, own_space()), "");
}

TEST(CoreLocks, TakesAllOrNone) {
  CoreLocks first, second, third;
  ASSERT_EQ(first.take(Cores{1}, own_space()), "");
  EXPECT_EQ(second.take(Cores{0, 1}, own_space()), "another Spire process uses core 1");
  EXPECT_EQ(third.take(Cores{0}, own_space()), "");
}

TEST(CoreLocks, SpacesAreApart) {
  CoreLocks first, second;
  EXPECT_EQ(first.take(Cores{0}, own_space()), "");
  EXPECT_EQ(second.take(Cores{0}, own_space() + "-b"), "");
}

// However it ends: nothing is left behind that a person has to remove.
TEST(CoreLocks, EndWithTheProcessThatHasThem) {
  std::string space = own_space();
  int told[2];
  ASSERT_EQ(pipe(told), 0);
  pid_t child = fork();
  if (child == 0) {
    CoreLocks held;
    char result = held.take(Cores{0}, space).empty() ? 'y' : 'n';
    [[maybe_unused]] ssize_t written = write(told[1], &result, 1);
    for (;;) pause();
  }
  char result = 0;
  ASSERT_EQ(read(told[0], &result, 1), 1);
  EXPECT_EQ(result, 'y');
  CoreLocks mine;
  EXPECT_EQ(mine.take(Cores{0}, space), "another Spire process uses core 0");
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_EQ(mine.take(Cores{0}, space), "");
  close(told[0]);
  close(told[1]);
}

}  // namespace
}  // namespace spire
