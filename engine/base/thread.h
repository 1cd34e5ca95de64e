// Starts threads with a set of cores and a name that top, gdb and perf show; paces polling loops.
#pragma once
#include <chrono>
#include <functional>
#include <string>
#include <sys/types.h>
#include <thread>
#include <vector>

#include "engine/base/system.h"

namespace spire {

struct ThreadPlace {
  std::string name;        // "reader 2"; the system shows system_thread_name()
  std::vector<int> cores;  // logical CPU numbers; empty: those of the starting thread
};

std::string system_thread_name(const std::string& name);  // "spire reader 2"; 15 characters

// Starts a thread that runs `body`. On return it has its name and runs on its cores, or on those of
// the caller if the system refuses them; its OpenMP teams inherit both. All signals but those of
// faults and of profilers are blocked on it: they are the program's own threads' affair. Throws
// Error(device) with the limits that may be the reason.
std::jthread start_thread(ThreadPlace place, std::function<void()> body);

// Checks that `count` more threads can exist at once by starting and ending them. Throws what
// start_thread() throws. Call it before OpenMP starts as many: OpenMP ends the program if it fails.
void prove_threads(int count, const std::string& name);

// Returns the logical CPUs on which a thread may run, ascending; {0} if the system does not tell.
// thread: 0 is the calling one, getpid() the process's first.
std::vector<int> allowed_cores(pid_t thread = 0);

// Paces a polling loop that shares its core with computing threads; make one per wait. In its first
// 50 us pause() returns at once, in the next 150 us it yields, then it sleeps: at first for 20 us,
// in the end for 200 us.
class Backoff {
 public:
  void pause();

 private:
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin_ = Clock::now();
  std::chrono::microseconds length_{20};
};

}  // namespace spire
