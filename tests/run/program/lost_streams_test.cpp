// Streams that take nothing, or were closed before the start: a run ends as it would have ended,
// and what a command prints as its result is not lost in silence.
#include <csignal>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/run/program/under_conditions.h"
#include "tests/tools/many_processes.h"

namespace spire {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
namespace fs = std::filesystem;

// The writing end of a pipe that nobody reads any more; a started shell has it under its number.
class BrokenPipe {
 public:
  BrokenPipe() {
    if (pipe(ends_) != 0) ADD_FAILURE() << "no pipe";
    close(ends_[0]);
  }
  ~BrokenPipe() { close(ends_[1]); }
  BrokenPipe(const BrokenPipe&) = delete;
  BrokenPipe& operator=(const BrokenPipe&) = delete;
  std::string as(const std::string& stream) const {
    return stream + ">&" + std::to_string(ends_[1]);
  }

 private:
  int ends_[2];
};

class LostStreams : public testing::Test {
 protected:
  Words run(const std::string& name, const Words& more = {}) const {
    return folder.run(name, test_mlp + Words{"steps=6", "checkpoint.every_steps=3"} + more);
  }
  // Every way in which `stream` ("1", "2") takes nothing.
  Words lost(const std::string& stream) const {
    return {stream + ">/dev/full", stream + ">&-", pipe.as(stream)};
  }

  RunFolder folder;
  BrokenPipe pipe;
};

TEST_F(LostStreams, AnErrorKeepsItsCodeWhenStderrTakesNothing) {
  struct {
    int code;
    Words words;
  } cases[] = {{0, {}},
               {2, {"no.such=key"}},
               {2, {"--no-such-option"}},
               {3, {"devices=cuda:99"}},
               {4, {"data.path=/nonexistent"}},
               {5, {"--resume", "nowhere.h5"}},
               {6, {"memory.limit=10KiB"}},
               {7, {"loss.name=mse", "optimizer.lr=1e30", "steps=20"}}};
  for (const auto& [code, words] : cases) {
    for (const std::string& stderr_lost : lost("2")) {
      std::string name = "run" + std::to_string(code);
      fs::remove_all(folder / name);
      EXPECT_EQ(trainer_with(stderr_lost, run(name, words)).code, code) << stderr_lost;
      fs::remove_all(folder / name);
      EXPECT_EQ(trainer_with("<&- >&- " + stderr_lost, run(name, words)).code, code);
    }
  }
}

TEST_F(LostStreams, ASignalSavesThoughNobodyHears) {
  for (const std::string& stderr_lost : lost("2")) {
    fs::remove_all(folder / "run");
    Program program("/bin/bash", in_shell("", ">&- " + stderr_lost,
                                          run("run", {"steps=100000000", "eval.every_epochs=0"})));
    ASSERT_TRUE(within_a_minute([&] { return fs::exists(folder / "run/checkpoints/latest"); }));
    program.signal(SIGTERM);
    EXPECT_EQ(program.finish().code, 75) << stderr_lost;
  }
}

TEST_F(LostStreams, TheSupervisorRestartsThoughNobodyHears) {
  Program program("/bin/bash",
                  in_shell("", "2>/dev/full", run("run", {"steps=3000", "--max-restarts=1"})));
  ASSERT_TRUE(within_a_minute([&] { return fs::exists(folder / "run/checkpoints/latest"); }));
  kill(wait_for_ranks(program, 1)[0], SIGKILL);
  EXPECT_EQ(program.finish().code, 0);
  EXPECT_EQ(folder.summary("run")["steps"], 3000);
}

// Else they are the numbers of the run's files, and the log's lines land in these.
TEST_F(LostStreams, ClosedOnesAreNoFilesOfTheRun) {
  for (const char* closed : {"<&-", ">&-", "2>&-", "<&- >&-", "<&- >&- 2>&-"}) {
    fs::remove_all(folder / "run");
    Words words = run("run", {"log.every_seconds=0.001"});
    EXPECT_EQ(trainer_with(closed, words).code, 0) << closed;
    EXPECT_EQ(folder.metrics("run").size(), 6u + 6u + 2u + 1u) << closed;  // a bad line throws
    EXPECT_EQ(trainer_with(closed, words + Words{"steps=8", "--resume", "auto"}).code, 0);
  }
}

TEST_F(LostStreams, AFinishedRunIsDoneThoughItsLastLinesAreLost) {
  for (const std::string& stdout_lost : lost("1")) {
    for (const Words& more : {Words{}, Words{"--max-restarts=1"}}) {
      fs::remove_all(folder / "run");
      Output output = trainer_with(stdout_lost, run("run", more));
      EXPECT_EQ(output.code, 0) << output.err;
      EXPECT_THAT(output.err, HasSubstr("warning: stdout cannot be written"));
      EXPECT_THAT(output.err, HasSubstr("summary.json holds its results"));
      EXPECT_THAT(output.err, Not(HasSubstr("restart")));
      EXPECT_EQ(folder.summary("run")["exit"], 0);
    }
  }
}

TEST_F(LostStreams, ALostResultIsCodeThree) {
  ASSERT_EQ(trainer(run("done")).code, 0);
  std::string done = folder / "done";
  Words words[] = {{"--help"},
                   {"version"},
                   {"version", "--verbose"},
                   {"devices"},
                   {"--help-config"},
                   run("new", {"--print-config"}),
                   run("new", {"--check"}),
                   run("new", {"--dry-run", "2"}),
                   Words{"plan"} + run("new", {}),
                   Words{"eval"} + run("done", {}),
                   {"predict", "--checkpoint", done},
                   {"predict", "--checkpoint", done, "--batch", "1"},
                   Words{"dataset", "inspect"} + run("new", {}),
                   Words{"dataset", "verify"} + run("new", {}),
                   Words{"dataset", "convert", "--to", folder / "data.h5"} + run("new", {})};
  for (const Words& command : words) {
    for (const std::string& stdout_lost : lost("1")) {
      fs::remove(folder / "data.h5");
      Output output = trainer_with(stdout_lost, command);
      EXPECT_EQ(output.code, 3) << command[0] << " " << stdout_lost << "\n" << output.err;
      EXPECT_THAT(output.last_error_line(), StartsWith("error[3]: stdout cannot be written"));
    }
  }
}

}  // namespace
}  // namespace spire
