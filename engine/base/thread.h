// Starts threads with a name, which top, gdb and perf show, and a set of cores; paces polling.
#pragma once
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace spire {

struct ThreadPlace {
  std::string name;        // "reader 2"; the system keeps the first 15 characters
  std::vector<int> cores;  // logical CPU numbers; empty: those of the starting thread
};

// Starts a thread that runs `body`. On return it has its name and runs on its cores, or on those of
// the caller if the system refuses them; OpenMP teams that it forms inherit both. Throws
// Error(device) with the limits that may be the reason if the system starts no thread.
std::jthread start_thread(ThreadPlace place, std::function<void()> body);

// Proves that `count` more threads can live at the same time: starts them and ends them. Throws as
// start_thread. Call it before a library starts as many that aborts on failure, as OpenMP does.
// name: the threads' name in the message.
void prove_threads(int count, const std::string& name);

// Returns the logical CPU numbers that the calling thread may run on, ascending; never empty.
std::vector<int> allowed_cores();

// Paces a polling loop that shares its core with computing threads: the first 50 us do not pause,
// the next 150 us yield, later ones sleep for 20 us growing to 200 us.
class Backoff {
 public:
  void pause();

 private:
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin_ = Clock::now();
  std::chrono::microseconds length_{20};
};

}  // namespace spire
