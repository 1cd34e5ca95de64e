// One process that starts the others: results, exit codes, signals, and that all processes end.
#include <algorithm>
#include <list>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/base/set_variable.h"
#include "tests/tools/many_processes.h"

namespace spire {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
namespace fs = std::filesystem;

TEST(Processes, TakeTheOptionsOfTheCommandLine) {
  ManyProcesses many;
  Output dry = expect_success(trainer(many.run("run", {"--dry-run", "3", "--processes=2"})));
  EXPECT_THAT(dry.err, HasSubstr("step 3/3"));
  EXPECT_FALSE(fs::exists(many.data.output("run")));

  Output quiet =
      expect_success(trainer(many.run("run", {"-q", "--processes=2", "--max_restarts=1"})));
  EXPECT_EQ(quiet.err, "");
  expect_error(2, trainer(many.run("run", {"--processes=2"})), "is not empty");
  Output more =
      expect_success(trainer(many.run("run", {"--resume=auto", "steps=14", "--processes=2"})));
  EXPECT_THAT(more.err, HasSubstr("step_00000012"));
  Output anew =
      expect_success(trainer(many.run("run", {"--overwrite", "--seed=8", "--processes=2"})));
  EXPECT_EQ(printed_hash(anew), printed_hash(trainer(many.run("other", {"seed=8"}))));
}

// Another attempt would end in the same way.
TEST(Processes, ErrorsOfTheRunAreItsOwnAndNotTriedAgain) {
  ManyProcesses many;
  struct {
    const char* word;
    int code;
    const char* message;
  } cases[] = {{"towers=3", 2, "4 devices but only 3 towers"},
               {"data.path=/nonexistent", 4, "/nonexistent"},
               {"devices=cuda:99", 3, "cuda:99"},
               {"optimizer.lr=1e30", 7, "loss"}};
  for (const auto& [word, code, message] : cases) {
    Output output =
        trainer(many.run("run", {word, "--overwrite", "--processes=4", "--max-restarts=3"}));
    EXPECT_EQ(output.code, code) << output.err;
    EXPECT_THAT(output.last_error_line(), StartsWith("error[" + std::to_string(code) + "]: "));
    EXPECT_THAT(output.last_error_line(), HasSubstr(message));
    EXPECT_THAT(output.err, Not(HasSubstr("restart")));
  }
}

TEST(Processes, AKilledRankEndsThemAllWithCodeEight) {
  ManyProcesses many;
  Program program(many.endless("run", {"--processes=3"}));
  std::vector<pid_t> ranks = ranks_after("checkpoint step", program, 3);
  kill(ranks[1], SIGKILL);
  Output output = program.finish();
  EXPECT_EQ(output.code, 8);
  EXPECT_EQ(output.last_error_line(),
            "error[8]: rank 1 was killed by signal 9 (Killed); continue with --resume auto, or "
            "restart automatically with --max-restarts N");
  EXPECT_TRUE(std::ranges::all_of(ranks, gone));  // already, not within some time
  EXPECT_EQ(kill(-ranks[0], 0), -1);
}

TEST(Processes, RanksEndWithTheProcessThatStartedThem) {
  ManyProcesses many;
  Program program(many.endless("run", {"--processes=3"}));
  std::vector<pid_t> ranks = ranks_after(" step 1/", program, 3);
  program.signal(SIGKILL);
  EXPECT_EQ(program.finish().code, 128 + SIGKILL);
  EXPECT_TRUE(all_gone(ranks));
}

bool has_pending(pid_t process, int signal) {
  std::ifstream file("/proc/" + std::to_string(process) + "/status");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("ShdPnd:"))
      return (std::stoull(line.substr(7), nullptr, 16) >> (signal - 1) & 1) != 0;
  }
  return false;
}

// The ranks are stopped, so that none answers the first.
TEST(Processes, ASecondInterruptEndsAtOnce) {
  ManyProcesses many;
  Program program(many.endless("run", {"--processes=2", "--max-restarts=1"}));
  std::vector<pid_t> ranks = ranks_after(" step 1/", program, 2);
  for (pid_t rank : ranks) kill(rank, SIGSTOP);
  ASSERT_TRUE(all_in_state(ranks, 'T'));
  program.signal(SIGINT);
  ASSERT_TRUE(within_a_minute([&] { return has_pending(ranks[1], SIGINT); }));
  program.signal(SIGINT);
  EXPECT_EQ(program.finish().code, 130);
  EXPECT_TRUE(std::ranges::all_of(ranks, gone));
}

// What a terminal sends to all in the foreground must reach the ranks once.
TEST(Processes, RanksAreAProcessGroupThatPausesWithTheProgram) {
  ManyProcesses many;
  Program program(many.endless("run", {"--processes=2"}));
  std::vector<pid_t> ranks = ranks_after(" step 1/", program, 2);
  pid_t first = getpgid(ranks[0]);  // of the ranks by number, which PIDs may begin again between
  EXPECT_EQ(std::ranges::count(ranks, first), 1);
  for (pid_t rank : ranks) EXPECT_EQ(getpgid(rank), first);
  std::vector<pid_t> all = ranks;
  all.push_back(program.pid());
  program.signal(SIGTSTP);
  EXPECT_TRUE(all_in_state(all, 'T'));
  program.signal(SIGCONT);
  EXPECT_TRUE(within_a_minute(
      [&] { return std::ranges::none_of(all, [](pid_t p) { return state_of(p) == 'T'; }); }));
  program.signal(SIGTERM);
  EXPECT_EQ(program.finish().code, 75);
}

std::string content(pid_t process, const char* name) {
  return content_of("/proc/" + std::to_string(process) + "/" + name);
}

// The value of a variable that the process was started with; empty when there is none.
std::string variable_of(pid_t process, const std::string& name) {
  std::istringstream variables(content(process, "environ"));
  for (std::string variable; std::getline(variables, variable, '\0');)
    if (variable.starts_with(name + "=")) return variable.substr(name.size() + 1);
  return {};
}

// Each start has another secret. It is in the environment of the ranks, which only their user can
// read, and not on their command lines, which every user can.
TEST(Processes, ShareASecretThatOnlyTheirUserCanRead) {
  SetVariable given("SPIRE_SECRET", "a secret of another run");
  ManyProcesses many;
  Program program(many.endless("run", {"--processes=2", "--max-restarts=1"}));
  std::vector<pid_t> ranks = ranks_after("checkpoint step", program, 2);
  std::string first = variable_of(ranks[0], "SPIRE_SECRET");
  EXPECT_EQ(first.size(), 64u);
  EXPECT_EQ(first.find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_EQ(variable_of(ranks[1], "SPIRE_SECRET"), first);
  EXPECT_EQ(variable_of(ranks[0], "MASTER_ADDR"), "127.0.0.1");
  for (pid_t rank : ranks) EXPECT_THAT(content(rank, "cmdline"), Not(HasSubstr(first)));

  kill(ranks[1], SIGKILL);
  ASSERT_TRUE(program.wait_for("restart 1 of 1"));
  ASSERT_TRUE(within_a_minute([&] {
    ranks = children_of(program.pid());
    return ranks.size() == 2 && variable_of(ranks[1], "SPIRE_SECRET").size() == 64 &&
           variable_of(ranks[1], "SPIRE_SECRET") != first;
  }));
  program.signal(SIGINT);
  program.signal(SIGINT);
  Output output = program.finish();
  EXPECT_THAT(output.out + output.err, Not(HasSubstr(first)));
}

TEST(Processes, AreNotStartedWithinALauncher) {
  ManyProcesses many;
  struct {
    std::vector<std::pair<std::string, std::string>> variables;
    std::string launcher, sign;
  } cases[] = {{{{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "4"}},
                "mpirun",
                "OMPI_COMM_WORLD_SIZE=4"},
               {{{"PMI_RANK", "0"}, {"PMI_SIZE", "1"}}, "mpirun", "PMI_SIZE=1"},
               {{{"SLURM_STEP_ID", "0"}, {"SLURM_PROCID", "1"}, {"SLURM_STEP_NUM_TASKS", "2"}},
                "srun",
                "SLURM_STEP_NUM_TASKS=2"},
               {{{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "localhost"}},
                "torchrun",
                "WORLD_SIZE=2"}};
  for (const auto& [variables, launcher, sign] : cases) {
    std::list<SetVariable> set;
    for (const auto& [name, value] : variables) set.emplace_back(name, value);
    expect_error(2, trainer(many.run("run", {"--processes=2", "--max-restarts=2"})),
                 "error[2]: --processes starts the ranks itself, and " + launcher +
                     " has started this one already (" + sign + "): use one of them");
    expect_error(2, trainer(many.run("run", {"--max-restarts=2"})),
                 "error[2]: --max-restarts: " + launcher +
                     " started this rank and has to start it again: exit code 8 says when; see "
                     "docs/processes.md");
  }
  EXPECT_FALSE(fs::exists(many.data.output("run")));
}

}  // namespace
}  // namespace spire
