// How the engine starts threads: each has a name, which top, gdb and perf show, and is told on
// which cores it runs. So no thread depends on where the one runs that happens to start it.
#pragma once
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace spire {

struct ThreadPlace {
  std::string name;        // "reader 2"; the system keeps the first 15 characters
  std::vector<int> cores;  // logical CPU numbers; empty: those of the thread that starts it
};

// A thread that runs `body`. When this returns it has its name and runs on its cores; where the
// system refuses the cores, it stays on those of the thread that started it. OpenMP teams that it
// makes inherit both. Throws Error(device) where the system starts no thread, with the limits that
// may be the reason.
std::jthread start_thread(ThreadPlace place, std::function<void()> body);

// Starts `count` threads that are there at the same time, and ends them; all are gone when this
// returns. Throws what start_thread throws. To be asked before a library starts as many that ends
// the program where it gets none, as OpenMP does. name: what the message calls them.
void prove_threads(int count, const std::string& name);

// The logical CPU numbers that the calling thread may run on, ascending; never empty.
std::vector<int> allowed_cores();

}  // namespace spire
