#include <spire/base/thread.h>

#include <pthread.h>
#include <sched.h>

#include <latch>
#include <memory>
#include <utility>

namespace spire {
namespace {

constexpr size_t name_length = 15;  // of pthread_setname_np, which refuses longer ones

// On the thread itself: a handle of one that has ended would stand for the caller.
void settle(const ThreadPlace& place) {
  pthread_setname_np(pthread_self(), place.name.substr(0, name_length).c_str());
  if (place.cores.empty()) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  for (int core : place.cores) CPU_SET(static_cast<size_t>(core), &set);
  sched_setaffinity(0, sizeof set, &set);
}

}  // namespace

std::jthread start_thread(ThreadPlace place, std::function<void()> body) {
  // Shared: the thread may still be inside count_down() when the starter has gone on.
  auto settled = std::make_shared<std::latch>(1);
  std::jthread thread([settled, place = std::move(place), body = std::move(body)] {
    settle(place);
    settled->count_down();
    body();
  });
  settled->wait();
  return thread;
}

std::vector<int> allowed_cores() {
  std::vector<int> cores;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(cpu, &set)) cores.push_back(cpu);
    }
  }
  if (cores.empty()) cores.push_back(0);
  return cores;
}

}  // namespace spire
