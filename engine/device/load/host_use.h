// Use of the host: how busy its cores are, how much of its memory is in use, what other programs
// use of this process's cores, and what this process uses; from the kernel's counts (proc(5)).
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace spire {

struct CoreTime {  // since the system started, in ticks
  uint64_t busy = 0, total = 0;
  uint64_t nice = 0;  // the part of `busy` of programs with a lowered priority
};

using CoreTimes = std::map<int, CoreTime>;  // by number; cores that are offline have none

struct HostUse {
  std::map<int, double> cores;  // by number: share of time in which each was busy, 0..1
  uint64_t memory_used = 0, memory_total = 0;  // bytes; used: total minus what is available
};

// root: the folder that contains proc; tests replace it.
CoreTimes read_core_times(const std::filesystem::path& root = "/");
// A core that was not online at both times is left out.
HostUse use_since(const CoreTimes& before, const CoreTimes& now,
                  const std::filesystem::path& root = "/");

class OtherLoad {
 public:
  // Begins to count. cores: the cores to look at. root: the folder that contains proc.
  explicit OtherLoad(std::vector<int> cores, std::filesystem::path root = "/");

  // Returns how many of the cores other programs have used since the last call, on average: 1.6 of
  // 2. What a hypervisor gave to other machines ("steal") counts, too. This process and those of
  // its children that it has waited for do not count; nor do programs with a lowered priority
  // (nice), which get what is left over, unless this process's priority is lowered, too. nullopt if
  // the system does not tell, or no time has passed.
  std::optional<double> read();

  // Returns the same per core, in the order of `cores`. The kernel does not tell on which cores
  // this process has computed. This is estimated from where its threads are: for threads that move
  // the entries may be wrong, their sum is not. While others use next to nothing, threads are not
  // looked at and all entries are equal; the first call that finds a load returns nullopt.
  std::optional<std::vector<double>> read_each();

 private:
  struct Ticks {               // since the system started; own: of the process
    std::vector<double> busy;  // of each core
    double total = 0, own = 0;
  };
  struct ThreadTime {
    double ticks = 0;
    int core = 0;  // on which it is, or was last
  };
  using ThreadTimes = std::map<int, ThreadTime>;  // of this process, by thread number

  std::optional<Ticks> count() const;
  std::optional<Ticks> advance();  // what has been added since the last call
  double others_of(const Ticks& ticks) const;
  ThreadTimes count_threads() const;
  static std::map<int, double> own_ticks_by_core(const ThreadTimes& before, const ThreadTimes& now);

  const std::vector<int> cores_;
  const std::filesystem::path root_;
  const bool lowered_;  // the priority of this process
  std::optional<Ticks> before_;
  std::optional<ThreadTimes> threads_before_;
};

// What this process uses of the host: CPU time by thread and memory; and the state of its cores.
// Read from /proc and /sys, whose root tests replace. Values that the system does not tell are
// empty. Nothing throws.

// What proc(5) says of a process or a thread in its file `stat`: its name, and the numbers behind
// its state. Empty if it has ended.
struct TaskStat {
  static constexpr size_t first_time = 10;  // utime; then stime, cutime, cstime
  static constexpr size_t core = 35;        // on which it runs, or ran last

  std::string name;
  std::vector<double> numbers;  // times are in ticks
};
TaskStat read_task(const std::filesystem::path& stat);

// Returns the CPU time, in seconds, of the threads of this process by their names
// (ThreadPlace::name); threads of one name are added up. It advances in steps of 10 ms (proc(5)).
std::map<std::string, double> thread_seconds(const std::filesystem::path& root = "/");

std::optional<uint64_t> resident_bytes(const std::filesystem::path& root = "/");

struct CoreState {
  std::optional<int> mhz, max_mhz;      // means; virtual machines seldom tell
  std::optional<uint64_t> heat_events;  // sum: how often heat lowered their clocks since the boot
};
// Reads at most four of the cores, as reading a clock can disturb or delay a core.
CoreState core_state(std::span<const int> cores, const std::filesystem::path& root = "/");

}  // namespace spire
