// Runs of several processes in which one is made to fail, and what is expected of such a run: all
// of it ends, in time, with the right codes, and the one that failed is named.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "engine/process/socket.h"
#include "tests/run/program/run_folder.h"

namespace spire {

// What SPIRE_TEST_FAULT of faulty_trainer.cpp says.
struct Fault {
  int rank = 0;
  std::string phase = "", kind = "";
  int64_t step = -1;        // -1: any
  std::string thread = "";  // empty: any
  int after = 0;

  std::string text() const;
};

enum class Launcher {
  none,       // one process, without variables
  variables,  // RANK and the like, as torchrun sets them
  mpirun,
};

struct Start {
  int ranks = 1;
  Launcher launcher = Launcher::variables;
  Words words;
  Fault fault;                       // kind empty: none
  std::vector<int> absent;           // ranks that are not started
  std::vector<std::string> folders;  // each rank's working directory; empty: this one
};

// The seconds of timeouts.step in these tests, and those within which a failed run has to end: long
// enough for a busy machine, and for sanitizers.
constexpr double step_limit = FAULT_STEP_LIMIT;
constexpr double test_bound = 20 + 10 * step_limit;
bool has_mpirun();
Words limits(double seconds);  // timeouts.step and timeouts.checkpoint; twice that to start

// The processes of a run. Those that are left at the end of the object are killed.
class Ranks {
 public:
  explicit Ranks(const Start& start);

  Program& operator[](int rank) { return *programs_[static_cast<size_t>(rank)]; }

  // By rank; under mpirun one of all. All have test_bound seconds from the start on. A rank
  // `stopped` is woken when the others have ended. A process that stays after all is a test
  // failure.
  std::vector<Output> finish(int stopped = -1);

 private:
  Words variables(int rank) const;
  void expect_end(int rank);
  void expect_nothing_left() const;

  Start start_;
  std::string mark_;   // in the environment of every process of this run
  ReservedPort port_;  // kept from other tests for as long as this lives
  std::chrono::steady_clock::time_point end_;
  std::vector<std::unique_ptr<Program>> programs_;
};

// The run did what a run has to do that this fault hits.
void expect_failed_as_a_whole(const Start& start, const std::vector<Output>& outputs);

}  // namespace spire
