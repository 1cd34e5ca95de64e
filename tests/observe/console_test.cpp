#include "engine/observe/console.h"

#include <algorithm>
#include <memory>
#include <sstream>
#include <sys/ioctl.h>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <stdlib.h>
#include <unistd.h>

#include "engine/observe/report_text.h"
#include "tests/observe/reports.h"

namespace spire {
namespace {

using ::testing::HasSubstr;

class ConsoleTest : public ::testing::Test {
 protected:
  Console& console(bool interactive, bool colour = false, bool quiet = false) {
    ConsoleOptions options;
    options.terminal = {interactive, colour, [this] { return width; }};
    options.every_seconds = 10;
    options.quiet = quiet;
    options.now = clock.function();
    console_ = std::make_unique<Console>(log, results, options);
    return *console_;
  }
  std::string logged() {
    std::string text = log.str();
    log.str("");
    return text;
  }

  ManualClock clock;
  int width = 200;
  std::ostringstream log, results;

 private:
  std::unique_ptr<Console> console_;
};

TEST_F(ConsoleTest, PlainOutputIsALineEveryTenSecondsAndAtEvents) {
  Console& plain = console(false);
  plain.on_start(sample_start());
  EXPECT_EQ(logged(), start_block(sample_start()) + "\n");
  for (int step = 1; step <= 25; ++step) {
    plain.on_step(sample_step(step));
    clock.advance(1);
  }
  std::string tail =
      "/2350 epoch 3.42 loss 0.2345 accuracy 83.40% lr 9.420e-02 gnorm 0.9100 3912 samples/s "
      "65.4 ms/step data 2% eta 1:15\n";
  EXPECT_EQ(logged(), "2026-01-31T12:00:00Z step 1" + tail + "2026-01-31T12:00:10Z step 11" + tail +
                          "2026-01-31T12:00:20Z step 21" + tail);
  plain.on_eval(sample_eval(25));
  plain.on_checkpoint({1200, "runs/step_00001200.h5", 1536, 0.1, 2.0});
  plain.on_note("stopped early");
  plain.on_warning("the disk is full");
  EXPECT_EQ(logged(),
            "2026-01-31T12:00:25Z step 25" + tail +
                "2026-01-31T12:00:25Z eval step 25 epoch 3 loss 0.2501 accuracy 91.32% best "
                "10 000 samples in 1.2 s\n"
                "2026-01-31T12:00:25Z checkpoint step 1200 1.5 KiB runs/step_00001200.h5\n"
                "2026-01-31T12:00:25Z stopped early\n"
                "2026-01-31T12:00:25Z warning: the disk is full\n");
  plain.on_end(sample_summary());
  EXPECT_EQ(logged(), "\n");  // the last step was logged already
  EXPECT_EQ(results.str(), end_block(sample_summary()));
}

TEST_F(ConsoleTest, ATerminalIsRedrawnTenTimesASecondAtMost) {
  Console& screen = console(true);
  for (int step = 1; step <= 1000; ++step) {
    screen.on_step(sample_step(step));
    clock.advance(0.01);
  }
  std::string text = logged();
  auto redraws = std::count(text.begin(), text.end(), '\r');
  EXPECT_GE(redraws, 90);
  EXPECT_LE(redraws, 100);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 0);
}

TEST_F(ConsoleTest, LinesAboveTheProgressLineAreWhole) {
  Console& screen = console(true);
  screen.on_warning("before any step");
  EXPECT_EQ(logged(), "warning: before any step\n");
  screen.on_step(sample_step(1199));
  logged();
  screen.on_step(sample_step());  // too early to be drawn; the next redraw shows it
  screen.on_warning("careful");
  screen.on_eval(sample_eval());
  screen.on_checkpoint({1200, "runs/step_00001200.h5", 1536, 0.1, 2.0});
  std::string line = progress_line(sample_step(), {}, 199, false);
  std::string clear = "\r\x1b[K";
  EXPECT_EQ(logged(), clear + "warning: careful\n" + clear + line + clear +
                          "eval step 1200 epoch 3 loss 0.2501 accuracy 91.32% best 10 000 samples "
                          "in 1.2 s\n" +
                          clear + line);
  screen.on_end(sample_summary());
  EXPECT_EQ(logged(), "\n\n");
}

TEST_F(ConsoleTest, AnEvaluationFollowsTheProgressOfItsStepOnce) {
  Console& plain = console(false);
  plain.on_eval(sample_eval(1200));  // a resumed run evaluates before its first step
  EXPECT_EQ(logged().find(" step 1200/"), std::string::npos);
  plain.on_step(sample_step(1201));  // shown, as the first
  plain.on_eval(sample_eval(1201));
  plain.on_step(sample_step(1202));
  plain.on_step(sample_step(1203));
  plain.on_eval(sample_eval(1203));
  plain.on_step(sample_step(1204));
  plain.on_end(sample_summary());
  std::string order;
  std::istringstream lines(logged());
  for (std::string line; std::getline(lines, line);)
    if (size_t at = line.find("step "); at != line.npos)
      order += line.substr(at, 9) + (line.find("eval") == line.npos ? " " : "e ");
  EXPECT_EQ(order, "step 1201 step 1201e step 1203 step 1203e step 1204 ");
}

TEST_F(ConsoleTest, ColoursOnlyWhereTheTerminalHasThem) {
  console(true, true).on_warning("careful");
  EXPECT_EQ(logged(), "\x1b[33mwarning: careful\x1b[0m\n");
  console(true, false).on_warning("careful");
  EXPECT_EQ(logged(), "warning: careful\n");
}

TEST_F(ConsoleTest, FollowsTheWindowsWidthAndKeepsTheLastColumnFree) {
  Console& screen = console(true);
  for (int columns : {120, 80, 40}) {
    width = columns;
    screen.on_step(sample_step());
    clock.advance(1);
    EXPECT_EQ(logged(), "\r\x1b[K" + progress_line(sample_step(), {}, columns - 1, false));
  }
}

TEST_F(ConsoleTest, QuietPrintsWarningsAndResultsOnly) {
  Console& quiet = console(false, false, true);
  quiet.on_start(sample_start());
  quiet.on_step(sample_step());
  quiet.on_eval(sample_eval());
  quiet.on_note("stopped early");
  EXPECT_EQ(logged(), "");
  quiet.on_warning("careful");
  quiet.on_end(sample_summary());
  EXPECT_EQ(logged(), "2026-01-31T12:00:00Z warning: careful\n");
  EXPECT_EQ(results.str(), end_block(sample_summary()));
}

TEST_F(ConsoleTest, AClockSetBackDoesNotFreezeProgress) {
  Console& plain = console(false);
  plain.on_step(sample_step(1));
  clock.advance(-3600);
  plain.on_step(sample_step(2));
  EXPECT_THAT(logged(), HasSubstr("step 2/2350"));
}

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

TEST_F(PseudoTerminal, ADumbTerminalIsNotInteractive) {
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
