// Starts threads with a name, which top, gdb and perf show, and with a set of cores; paces polling.
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
// the caller if the system refuses them; its OpenMP teams inherit both. Throws Error(device) with
// the limits that may be the reason.
std::jthread start_thread(ThreadPlace place, std::function<void()> body);

// Proves that `count` more threads can exist at once: starts and ends them. Throws as start_thread.
// Call it before OpenMP starts as many, which ends the program if it cannot.
void prove_threads(int count, const std::string& name);

std::vector<int> allowed_cores();  // logical CPUs of the calling thread, ascending; never empty

// Paces a polling loop that shares its core with computing threads: for 50 us it does not pause,
// for 150 us it yields, then it sleeps for 20 us, growing to 200 us.
class Backoff {
 public:
  void pause();

 private:
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin_ = Clock::now();
  std::chrono::microseconds length_{20};
};

}  // namespace spire
