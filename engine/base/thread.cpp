#include "engine/base/thread.h"

#include <algorithm>
#include <latch>
#include <memory>
#include <system_error>
#include <utility>

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include "engine/base/fail.h"
#include "engine/base/system.h"

namespace spire {
namespace {

constexpr size_t name_length = 15;  // pthread_setname_np refuses longer names

// Runs on the new thread itself: the handle of a thread that has ended must not be used.
void settle(const ThreadPlace& place) {
  pthread_setname_np(pthread_self(), system_thread_name(place.name).c_str());
  keep_to_cores(place.cores);
}

// While it lives, the calling thread blocks signals; threads that it starts block them for good.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t blocked;
    sigfillset(&blocked);
    for (int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS, SIGPROF})
      sigdelset(&blocked, signal);
    pthread_sigmask(SIG_BLOCK, &blocked, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

// How many masks of CPU_SETSIZE bits hold the bits of so many cores.
size_t mask_parts(int bits) {
  return static_cast<size_t>((bits + CPU_SETSIZE - 1) / CPU_SETSIZE);
}

// Waits for the kernel to forget a joined thread: until then it counts against the limits.
void wait_until_gone(pid_t thread) {
  auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  while (tgkill(getpid(), thread, 0) == 0 && std::chrono::steady_clock::now() < end) sched_yield();
}

}  // namespace

std::string system_thread_name(const std::string& name) {
  return ("spire " + name).substr(0, name_length);
}

std::jthread start_thread(ThreadPlace place, std::function<void()> body) {
  // Shared: the thread may still be inside count_down() when this function has returned.
  auto settled = std::make_shared<std::latch>(1);
  std::jthread thread;
  SignalsBlocked inherited;
  try {
    thread = std::jthread([settled, place, body = std::move(body)] {
      settle(place);
      settled->count_down();
      body();
    });
  } catch (const std::system_error& error) {
    fail(Category::device, "the system refused to start thread '{}': {}; {}", place.name,
         error.code().message(), thread_limits());
  }
  settled->wait();
  return thread;
}

void keep_to_cores(const std::vector<int>& cores) {
  if (cores.empty()) return;
  std::vector<cpu_set_t> mask(mask_parts(*std::ranges::max_element(cores) + 1));
  size_t bytes = mask.size() * sizeof(cpu_set_t);
  for (int core : cores) CPU_SET_S(static_cast<size_t>(core), bytes, mask.data());
  sched_setaffinity(0, bytes, mask.data());
}

void prove_threads(int count, const std::string& name) {
  std::vector<pid_t> ids(static_cast<size_t>(count));
  {
    std::latch end(1);
    std::vector<std::jthread> threads;  // after `end`: joined before the latch is destroyed
    try {
      for (pid_t& id : ids) {
        threads.push_back(start_thread({name, {}}, [&end, &id] {
          id = gettid();
          end.wait();
        }));
      }
    } catch (...) {
      end.count_down();  // releases those that have started: they are joined on the way out
      throw;
    }
    end.count_down();
  }
  for (pid_t id : ids) wait_until_gone(id);
}

// The affinity mask has the cores that taskset, a launcher or a cpuset cgroup allows.
std::vector<int> allowed_cores(pid_t thread) {
  std::vector<int> cores;
  // The kernel refuses a mask with fewer bits than it has for cores.
  constexpr int most = 1 << 20;
  for (int bits = CPU_SETSIZE; cores.empty() && bits <= most; bits *= 2) {
    std::vector<cpu_set_t> mask(mask_parts(bits));
    size_t bytes = mask.size() * sizeof(cpu_set_t);
    if (sched_getaffinity(thread, bytes, mask.data()) != 0) continue;
    for (int cpu = 0; cpu < bits; ++cpu)
      if (CPU_ISSET_S(static_cast<size_t>(cpu), bytes, mask.data())) cores.push_back(cpu);
  }
  if (cores.empty()) cores.push_back(0);
  return cores;
}

void Backoff::pause() {
  using std::chrono::microseconds;
  auto waited = Clock::now() - begin_;
  if (waited < microseconds(50)) return;
  if (waited < microseconds(200)) {
    sched_yield();
    return;
  }
  std::this_thread::sleep_for(length_);
  length_ = std::min(length_ * 5 / 4, microseconds(200));
}

}  // namespace spire
