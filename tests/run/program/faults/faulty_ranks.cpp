#include "tests/run/program/faults/faulty_ranks.h"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "engine/base/fail.h"
#include "engine/process/socket.h"
#include "tests/tools/program.h"

namespace spire {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using testing::HasSubstr;
using testing::StartsWith;

std::string unique_mark() {
  static std::atomic<int> runs{0};
  return fmt::format("SPIRE_TEST_MARK=run_{}_{}.", getpid(), ++runs);
}

// The environment of a process that has ended, or that is not ours to read, is empty.
bool is_marked(const fs::path& process, const std::string& mark) {
  return content_of(process / "environ").find(mark) != std::string::npos;
}

std::vector<std::string> marked_processes(const std::string& mark) {
  std::vector<std::string> found;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    std::string name = entry.path().filename();
    bool process = std::all_of(name.begin(), name.end(), [](char c) { return std::isdigit(c); });
    if (process && is_marked(entry.path(), mark)) found.push_back(name);
  }
  return found;
}

std::string line_with(const std::string& text, const std::string& begin) {
  size_t at = ("\n" + text).find("\n" + begin);
  return at == std::string::npos ? "" : text.substr(at, text.find('\n', at) - at);
}

}  // namespace

bool has_mpirun() {
  return fs::exists(MPIRUN_PROGRAM);
}

Words limits(double seconds) {
  return {fmt::format("timeouts.step={}", seconds), fmt::format("timeouts.checkpoint={}", seconds),
          fmt::format("timeouts.start={}", 2 * seconds)};
}

std::string Fault::text() const {
  std::string words = fmt::format("rank={} phase={} kind={} after={}", rank, phase, kind, after);
  if (step >= 0) words += fmt::format(" step={}", step);
  if (!thread.empty()) words += " thread=" + thread;
  return words;
}

Ranks::Ranks(const Start& start)
    : start_(start),
      mark_(unique_mark()),
      end_(Clock::now() +
           std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(test_bound))) {
  bool mpi = start.launcher == Launcher::mpirun;
  for (int rank = 0; rank < (mpi ? 1 : start.ranks); ++rank) {
    bool absent = std::ranges::count(start.absent, rank) > 0;
    Words words = variables(rank);
    if (mpi) words = words + Words{MPIRUN_PROGRAM, "-np", std::to_string(start.ranks)};
    words = words + Words{FAULTY_TRAINER_PROGRAM} + start.words;
    programs_.push_back(absent ? nullptr : std::make_unique<Program>("/usr/bin/env", words));
  }
}

Words Ranks::variables(int rank) const {
  Words words;
  if (!start_.folders.empty()) words = {"-C", start_.folders[static_cast<size_t>(rank)]};
  words.push_back(mark_);
  if (!start_.fault.kind.empty()) words.push_back("SPIRE_TEST_FAULT=" + start_.fault.text());
  auto text = [](int value) { return std::to_string(value); };
  if (start_.launcher == Launcher::variables)
    words =
        words + Words{"RANK=" + text(rank),       "WORLD_SIZE=" + text(start_.ranks),
                      "LOCAL_RANK=" + text(rank), "LOCAL_WORLD_SIZE=" + text(start_.ranks),
                      "MASTER_ADDR=127.0.0.1",    "MASTER_PORT=" + std::to_string(port_.number())};
  // As root in a container, with more ranks than cores. Open MPI leaves memory behind.
  if (start_.launcher == Launcher::mpirun)
    words = words + Words{"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
                          "OMPI_MCA_rmaps_base_oversubscribe=1",
                          "OMPI_MCA_hwloc_base_binding_policy=none", "ASAN_OPTIONS=detect_leaks=0"};
  return words;
}

std::vector<Output> Ranks::finish(int stopped) {
  int size = static_cast<int>(programs_.size());
  for (int rank = 0; rank < size; ++rank)
    if (rank != stopped) expect_end(rank);
  if (stopped >= 0 && stopped < size) {
    (*this)[stopped].signal(SIGCONT);
    end_ = std::max(end_, Clock::now() + std::chrono::seconds(20));
    expect_end(stopped);
  }
  expect_nothing_left();
  std::vector<Output> outputs;
  for (auto& program : programs_) outputs.push_back(program ? program->finish() : Output{});
  return outputs;
}

void Ranks::expect_end(int rank) {
  auto& program = programs_[static_cast<size_t>(rank)];
  if (!program || program->ends_by(end_)) return;
  ADD_FAILURE() << "rank " << rank << " has not ended within " << test_bound << " s";
  program->signal(SIGKILL);
}

// What mpirun kills may end a moment after it.
void Ranks::expect_nothing_left() const {
  auto end = Clock::now() + std::chrono::seconds(10);
  std::vector<std::string> left;
  while (!(left = marked_processes(mark_)).empty() && Clock::now() < end) usleep(2000);
  EXPECT_THAT(left, testing::IsEmpty()) << "processes that stayed";
  for (const std::string& process : left) kill(std::stoi(process), SIGKILL);
}

namespace {

// What `error[8]:` has to say of the fault. place: "cpu:0, backward of step 7".
void expect_named(const std::string& line, const Fault& fault, const std::string& place) {
  EXPECT_THAT(line, StartsWith(fmt::format("error[8]: rank {} (host ", fault.rank)));
  size_t comma = place.find(", ");
  const std::map<std::string, std::string> reasons = {
      {"throw", "), " + place + ": made to fail"},
      {"stall",
       "), " + place.substr(0, comma) + ": no progress in " + place.substr(comma + 2) + " for "},
      {"kill", ") ended without an error message"},
      {"stop", ") has sent no sign of life for"}};
  EXPECT_THAT(line, HasSubstr(reasons.at(fault.kind)));
}

void expect_codes(const Start& start, const std::vector<Output>& outputs) {
  for (int rank = 0; rank < start.ranks; ++rank) {
    bool killed = rank == start.fault.rank && start.fault.kind == "kill";
    EXPECT_EQ(outputs[static_cast<size_t>(rank)].code, killed ? 128 + SIGKILL : 8)
        << "rank " << rank << " of " << start.ranks;
  }
}

}  // namespace

// Rank 0 tells; if it is the one that failed all others do. The rest keeps silent.
void expect_failed_as_a_whole(const Start& start, const std::vector<Output>& outputs) {
  const Fault& fault = start.fault;
  std::string all;
  for (const Output& output : outputs) all += output.err;
  std::string struck = line_with(all, "struck: ");
  ASSERT_NE(struck, "") << "the fault never struck: " << all;
  std::string place = struck.substr(struck.find(' ') + 1);
  if (start.launcher == Launcher::mpirun) {
    EXPECT_NE(outputs[0].code, 0);
    expect_named(line_with(all, "error["), fault, place);
    return;
  }
  expect_codes(start, outputs);
  for (int rank = 0; rank < start.ranks; ++rank) {
    if (rank == fault.rank) continue;
    const Output& output = outputs[static_cast<size_t>(rank)];
    if (rank == 0 || fault.rank == 0) {
      expect_named(output.last_error_line(), fault, place);
    } else {
      EXPECT_EQ(output.err, "") << "rank " << rank;
    }
  }
}

}  // namespace spire
