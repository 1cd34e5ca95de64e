// The processes of a run: what their launcher says, how they join, what their threads are doing,
// and the failure that ends a run early.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <spire/error.h>
#include <spire/export.h>

namespace spire {

// Function that returns the value of an environment variable; nullopt if it is not set.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;
SPIRE_API Environment process_environment();

struct Launch {
  std::string launcher;  // "mpirun", "srun", "torchrun"; empty: no launcher
  int rank = 0, size = 1;
  int local_rank = 0, local_size = 1;  // among the processes of this host
  bool mpi = false;                    // the processes join and exchange messages through MPI
  // Without MPI, rank 0 listens at this address and port. If store_key is set, torchrun's key-value
  // store listens there instead, and rank 0 publishes its own address in it, under store_key.
  std::string master_address;
  int master_port = 0;
  std::string store_key;
  bool one_host = false;  // true if the variables show that all processes run on this host
  std::string secret;     // shared by the ranks of the run alone; empty: none was given
};

// Reads from the environment which launcher started this process, its rank and the number of
// processes. It reads the variables of mpirun (Open MPI's OMPI_COMM_WORLD_*, MPICH's PMI_*), of
// srun (SLURM_* of a job step, not of the batch script around it), or of torchrun: RANK,
// WORLD_SIZE, LOCAL_RANK (default 0), LOCAL_WORLD_SIZE (default LOCAL_RANK + 1), MASTER_ADDR,
// MASTER_PORT (default 29500). Without any of them the run has one process. If several launchers
// have set theirs, rank and size must agree, and MPI is used; srun's variables are ignored if
// mpirun or torchrun run inside srun. TORCHELASTIC_USE_AGENT_STORE says that torchrun's store
// listens on MASTER_PORT.
//
// SPIRE_SECRET or SPIRE_SECRET_FILE gives the secret. With torchrun's variables it is required if
// the ranks join over a network and there is no store through which rank 0 can share one.
//
// Throws Error(config) with the variables and their values for a missing or bad number, a missing
// or short secret, or launchers that disagree.
SPIRE_API Launch read_launch(const Environment& environment);

// Identity of a rank (a process of the run), which it sends to the others at the start.
struct RankInfo {
  int rank = 0;
  std::string host;
  int pid = 0;
  // Logical CPUs on which it may run. Ranks of one host with equal lists divide the CPUs among
  // them.
  std::vector<int> cores;
};
SPIRE_API std::string to_string(const RankInfo& info);  // "rank 2 (host b, pid 77)"

// Failure that ends a run early. All ranks (the processes of the run) agree on one.
struct Failure {
  Category category = Category::collective;
  int rank = 0;  // where it began; -1 if all ranks met the same error
  // One line with the rank, device and phase where it began, and the cause: "rank 1 (host b, pid
  // 77), cpu:0: no progress in backward of step 37 for 10.0 s (timeouts.step: 10 s)".
  std::string text;
  bool consequence = false;  // true: follows from another rank's failure, which is reported, too
  std::string table;         // one line per thread of all ranks: what it did; filled in by rank 0
};

// Phases of a run's threads: what a thread is doing, for messages, hooks and the watchdog.

enum class Phase : uint8_t {
  idle,     // has nothing to do
  waiting,  // waits for other threads or ranks: never the cause of a stall
  start,
  data,
  forward,
  backward,
  bucket,  // sums or exchanges a bucket, a range of the gradient; detail: its index
  update,
  eval,
  device,  // waits for work that was given to a GPU
  checkpoint,
  setup,  // sets devices up and compiles for them
};
SPIRE_API std::string phase_text(Phase phase, int64_t detail);  // "forward", "bucket 3", "waiting"

// Phase of one thread at the time when it was read.
struct PhaseRow {
  std::string thread;  // "cpu:0", "cpu:1 lane 3", "exchange"
  Phase phase = Phase::idle;
  int64_t detail = 0;  // bucket: its index; waiting: 1 + that of the awaited bucket, or 0
  int64_t step = 0;    // step in progress, 1 for the first; 0 before it
  double seconds = 0;  // since the phase was entered
};
// Returns "backward of step 37", "waiting in step 37", or "start" before the first step.
SPIRE_API std::string position_text(const PhaseRow& row);

// Called on the thread that enters a phase. If it throws, the phase fails with that exception.
using PhaseHook = std::function<void(const PhaseRow& entered)>;

class ProcessGroup;
class Watchdog;

struct JoinOptions {
  double start_seconds = 300;  // longest wait for the other ranks
  // The cores of this rank (RankInfo::cores), on which the watchdog's thread also runs; empty:
  // those of the caller.
  std::vector<int> cores = {};
  // Called on the watchdog's thread if this World still exists some seconds after a failure,
  // because a thread hangs. It should end the process, which the library does not do.
  std::function<void(const Failure&)> on_exit_timeout = {};
};

// What a rank has of its connected run: a group for messages, and a watchdog that detects failures.
struct SPIRE_API World {
  World();
  ~World();

  Launch launch;
  std::vector<RankInfo> ranks;  // one entry per rank
  std::unique_ptr<ProcessGroup> group;
  std::unique_ptr<Watchdog> watchdog;  // destroyed before the group, which it may interrupt

  int rank() const { return launch.rank; }
  int size() const { return launch.size; }
};

// Blocks until all ranks have joined. Throws Error(collective) with the ranks that did not join
// within start_seconds, Error(config) if two processes have the same rank or different numbers of
// ranks or if MPI and the launcher disagree, Error(device) if the launcher wants MPI and this build
// has none.
SPIRE_API std::unique_ptr<World> join_world(const Launch& launch, const JoinOptions& options);

// Returns one world per rank, for a run whose ranks are threads of this process. For tests and for
// embedding.
SPIRE_API std::vector<std::unique_ptr<World>> threads_world(int size,
                                                            const JoinOptions& options = {});

class ReservedPort;

// For programs that start the processes of a run on this host: makes the environment variables from
// which read_launch() of each process takes its rank. Each run has a secret, so that processes of
// other runs cannot join. Keep the object until all processes have ended. Any thread may call
// variables().
class SPIRE_API LocalRanks {
 public:
  // Reserves a port of the loopback interface. Throws Error(config) for size < 1, Error(device) if
  // no port is free.
  explicit LocalRanks(int size);
  ~LocalRanks();
  LocalRanks(LocalRanks&&) noexcept;
  LocalRanks& operator=(LocalRanks&&) noexcept;

  int size() const { return size_; }
  // Names and values for the process with this rank, in 0 .. size() - 1. One of them is a secret.
  std::vector<std::pair<std::string, std::string>> variables(int rank) const;

 private:
  int size_;
  std::unique_ptr<ReservedPort> port_;
  std::string secret_;
};

// Returns the failure that ends the run; nullopt as long as this rank knows of none. Any thread.
SPIRE_API std::optional<Failure> failure_of(const World& world);

}  // namespace spire
