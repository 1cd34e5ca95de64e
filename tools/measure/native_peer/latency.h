// Times of single calls, as an embedding program sees them: median and 99th percentile, alone and
// beside threads that keep all cores busy. Both sides of compare_latency.py print these lines:
//   step_64 MEDIAN P99 BUSY_MEDIAN BUSY_P99    microseconds
//   first_step MILLISECONDS                    since the program was started, at the steady time
//   argv[1] memory MIB
#pragma once
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <sys/resource.h>
#include <thread>
#include <utility>
#include <vector>

namespace latency {

constexpr int features = 20, width = 64, outputs = 2, batch = 64;

using Clock = std::chrono::steady_clock;

inline Clock::time_point start_of_program(int argc, char** argv) {
  if (argc < 2) return Clock::now();
  return Clock::time_point(std::chrono::nanoseconds(std::atoll(argv[1])));
}

inline double microseconds_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

// Median and 99th percentile of `calls` calls, after a tenth as many that do not count.
inline std::pair<double, double> time_calls(int calls, const std::function<void()>& call) {
  for (int i = 0; i < calls / 10; ++i) call();
  std::vector<double> times;
  for (int i = 0; i < calls; ++i) {
    auto begin = Clock::now();
    call();
    times.push_back(microseconds_since(begin));
  }
  std::sort(times.begin(), times.end());
  return {times[times.size() / 2], times[times.size() * 99 / 100]};
}

inline void print(const char* what, int calls, const std::function<void()>& call) {
  auto alone = time_calls(calls, call);
  std::atomic<bool> ends{false};
  std::vector<std::jthread> pool;
  for (unsigned i = 0; i < std::thread::hardware_concurrency(); ++i)
    pool.emplace_back([&] {
      for (double x = 1; !ends.load(std::memory_order_relaxed);) x = x * 1.0000001 + 1e-9;
    });
  auto busy = time_calls(calls, call);
  ends = true;
  std::printf("%s %.2f %.2f %.2f %.2f\n", what, alone.first, alone.second, busy.first, busy.second);
}

inline void print_memory() {
  rusage use{};
  getrusage(RUSAGE_SELF, &use);
  std::printf("memory %ld\n", use.ru_maxrss / 1024);
}

struct Batch {
  std::vector<float> x = std::vector<float>(batch * features),
                     y = std::vector<float>(batch * outputs);
  Batch() {
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 17) / 17;
    for (size_t i = 0; i < y.size(); ++i) y[i] = static_cast<float>(i % 5) / 5;
  }
};

}  // namespace latency
