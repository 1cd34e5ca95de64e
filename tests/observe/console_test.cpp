#include "engine/observe/console.h"

#include <sstream>

#include <gmock/gmock.h>

#include "engine/observe/blocks.h"
#include "engine/observe/progress_line.h"
#include "tests/observe/reports.h"

namespace spire {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::string wide_line =
    "epoch 3.4/10  step 1200/2350  loss 0.2345  acc 83.4%  lr 0.0942  3912 samples/s  data 2%  "
    "eta 1:15";

TEST(ProgressLine, UsesTheRoomThereIs) {
  EXPECT_EQ(progress_line(sample_step(), {.epochs = 10}, 200, false), wide_line);
  EXPECT_EQ(progress_line(sample_step(), {.epochs = 10}, 79, false),
            "ep 3.4 step 1200/2350 loss 0.2345 acc 83.4% lr 0.0942 3912/s data 2% eta 1:15");
  EXPECT_EQ(progress_line(sample_step(), {.epochs = 10}, 40, false),
            "step 1200/2350 loss 0.2345 acc 83.4%");
  EXPECT_EQ(progress_line(sample_step(), {.epochs = 10}, 11, false), "loss 0.2345");
  EXPECT_EQ(progress_line(sample_step(), {.epochs = 10}, 5, false), "");
}

TEST(ProgressLine, NeverExceedsTheWidth) {
  StepReport big = sample_step(123456789);
  big.total_steps = 999999999;
  big.epoch_loss = 1e30;
  big.eta_seconds = 1e7;
  for (int width = -1; width < 150; ++width)
    EXPECT_LE(static_cast<int>(progress_line(big, {.epochs = 10}, width, false).size()),
              std::max(width, 0));
}

// Takes the escapes "ESC [ ... letter" out of a text.
std::string without_escapes(std::string text) {
  for (size_t at; (at = text.find('\x1b')) != text.npos;)
    text.erase(at, text.find_first_of("mK", at) + 1 - at);
  return text;
}

TEST(ProgressLine, ColourChangesNoText) {
  std::string coloured = progress_line(sample_step(), {.epochs = 10}, 110, true);
  EXPECT_THAT(coloured, HasSubstr("\x1b[2mloss\x1b[22m 0.2345"));
  EXPECT_EQ(without_escapes(coloured), wide_line);
}

TEST(PlainLine, Golden) {
  EXPECT_EQ(plain_line(sample_step(), {}, std::chrono::system_clock::from_time_t(1769860800)),
            "2026-01-31T12:00:00Z step 1200/2350 epoch 3.42 loss 0.2345 accuracy 83.40% "
            "lr 9.420e-02 gnorm 0.9100 3912 samples/s 65.4 ms/step data 2% eta 1:15");
}

TEST(CommWait, IsShownFromOnePercentOnAndWithSeveralProcesses) {
  auto time = std::chrono::system_clock::from_time_t(1769860800);
  StepReport step = sample_step();
  auto shown = [&](double wait, int64_t processes) {
    step.comm_wait = wait;
    LineContext context{.epochs = 10, .processes = processes};
    bool plain = plain_line(step, context, time).find(" comm ") != std::string::npos;
    bool rewritten = progress_line(step, context, 200, false).find(" comm ") != std::string::npos;
    EXPECT_EQ(plain, rewritten);
    return plain;
  };
  EXPECT_FALSE(shown(0, 1));
  EXPECT_FALSE(shown(0.0099, 1));
  EXPECT_TRUE(shown(0.01, 1));
  EXPECT_TRUE(shown(0, 2));
  EXPECT_THAT(plain_line(step, {.processes = 2}, time), HasSubstr("data 2% comm 0% eta 1:15"));
  step.comm_wait = 0.123;
  EXPECT_THAT(plain_line(step, {}, time), HasSubstr("data 2% comm 12% eta 1:15"));
  EXPECT_THAT(progress_line(step, {}, 200, false), HasSubstr("data 2%  comm 12%  eta 1:15"));
}

TEST(Skipped, StepsAreShownOnceThereAreSome) {
  auto time = std::chrono::system_clock::from_time_t(1769860800);
  StepReport step = sample_step();
  for (int64_t skipped : {0, 3}) {
    step.skipped_steps = skipped;
    for (const std::string& line :
         {plain_line(step, {}, time), progress_line(step, {}, 200, false)})
      EXPECT_EQ(line.find("skipped 3") != std::string::npos, skipped > 0) << line;
  }
}

TEST(CommWait, StaysLongerThanTheDataWaitWhereThereIsLittleRoom) {
  StepReport step = sample_step();
  step.comm_wait = 0.3;
  EXPECT_EQ(progress_line(step, {}, 72, false),
            "ep 3.4 step 1200/2350 loss 0.2345 acc 83.4% 3912/s comm 30% eta 1:15");
}

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

  HandClock clock;
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
  EXPECT_EQ(logged(), "\n");  // the last step is there already
  EXPECT_EQ(results.str(), end_block(sample_summary()));
}

TEST_F(ConsoleTest, NothingPlainHoldsAnEscapeOrACarriageReturn) {
  Console& plain = console(false);
  plain.on_start(sample_start());
  for (int step = 1; step <= 100; ++step) {
    plain.on_step(sample_step(step));
    if (step % 10 == 0) plain.on_eval(sample_eval(step));
    if (step % 25 == 0) plain.on_warning("careful");
    clock.advance(3);
  }
  plain.on_end(sample_summary());
  EXPECT_EQ((log.str() + results.str()).find_first_of("\r\x1b"), std::string::npos);
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
  screen.on_step(sample_step());  // too soon to be drawn, but known
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
  plain.on_eval(sample_eval(1200));  // of a run that is resumed: there is no step yet
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

TEST_F(ConsoleTest, TheLastStepIsShownAtTheEnd) {
  Console& screen = console(true);
  screen.on_step(sample_step(1));
  screen.on_step(sample_step(2350));
  logged();
  screen.on_end(sample_summary());
  EXPECT_THAT(logged(), HasSubstr("step 2350/2350"));
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

TEST_F(ConsoleTest, QuietSaysWarningsAndResultsOnly) {
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

}  // namespace
}  // namespace spire
