#include "engine/observe/terminal.h"

#include <sys/ioctl.h>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

namespace spire {
namespace {

// The terminal end of a new pseudo terminal, 123 columns wide.
class PseudoTerminal : public ::testing::Test {
 protected:
  void SetUp() override {
    master_ = ::posix_openpt(O_RDWR | O_NOCTTY);
    if (master_ < 0 || ::grantpt(master_) != 0 || ::unlockpt(master_) != 0)
      GTEST_SKIP() << "no pseudo terminals here";
    terminal = ::open(::ptsname(master_), O_RDWR | O_NOCTTY);
    ASSERT_GE(terminal, 0);
    winsize size{};
    size.ws_col = 123;
    ASSERT_EQ(::ioctl(terminal, TIOCSWINSZ, &size), 0);
    ::setenv("TERM", "xterm", 1);
    ::unsetenv("NO_COLOR");
  }
  void TearDown() override {
    if (terminal >= 0) ::close(terminal);
    if (master_ >= 0) ::close(master_);
  }
  int terminal = -1;

 private:
  int master_ = -1;
};

TEST_F(PseudoTerminal, IsInteractiveColouredAndKnowsItsWidth) {
  Terminal found = terminal_of(terminal);
  EXPECT_TRUE(found.interactive);
  EXPECT_TRUE(found.colour);
  EXPECT_EQ(found.width(), 123);
}

TEST_F(PseudoTerminal, NoColorIsObeyedUnlessEmpty) {
  ::setenv("NO_COLOR", "1", 1);
  EXPECT_TRUE(terminal_of(terminal).interactive);
  EXPECT_FALSE(terminal_of(terminal).colour);
  ::setenv("NO_COLOR", "", 1);
  EXPECT_TRUE(terminal_of(terminal).colour);
}

TEST_F(PseudoTerminal, ADumbOneGetsPlainLines) {
  ::setenv("TERM", "dumb", 1);
  EXPECT_FALSE(terminal_of(terminal).interactive);
  EXPECT_FALSE(terminal_of(terminal).colour);
}

TEST(Terminal, AFileOrPipeIsNotInteractive) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  Terminal found = terminal_of(ends[1]);
  EXPECT_FALSE(found.interactive);
  EXPECT_FALSE(found.colour);
  EXPECT_EQ(found.width(), 80);
  ::close(ends[0]);
  ::close(ends[1]);
}

}  // namespace
}  // namespace spire
